package hit

import (
	"slices"
	"strings"
	"unicode/utf8"

	"google.golang.org/protobuf/encoding/protowire"
)

// Append adds the encoded hit to dst and returns the result. Version is written as the constant Version whatever h says. Text that is
// not valid UTF-8 is written with U+FFFD in place of the bad bytes, since protobuf readers refuse the whole record otherwise. Equal
// hits give equal bytes.
func Append(dst []byte, h *Hit) []byte {
	dst = appendUint(dst, fVersion, Version)
	dst = appendString(dst, fSource, h.ID.Source)
	dst = appendUint(dst, fSequence, h.ID.Seq)
	dst = appendString(dst, fClientID, h.ClientID)
	dst = appendUint(dst, fSiteID, uint64(h.SiteID))
	dst = appendString(dst, fSite, h.Site)
	dst = appendUint(dst, fTimeMs, uint64(h.TimeMs))
	dst = appendUint(dst, fReceivedMs, uint64(h.ReceivedMs))
	dst = appendUint(dst, fKind, uint64(h.Kind))
	dst = appendString(dst, fName, h.Name)
	dst = appendFixed(dst, fVisitor, h.Visitor)
	dst = appendFixed(dst, fVisitorNext, h.VisitorNext)
	dst = appendString(dst, fHost, h.Host)
	dst = appendString(dst, fPath, h.Path)
	dst = appendString(dst, fQuery, h.Query)
	dst = appendString(dst, fFragment, h.Fragment)
	dst = appendString(dst, fTitle, h.Title)
	dst = appendString(dst, fReferrer, h.Referrer)
	dst = appendString(dst, fRefHost, h.RefHost)
	dst = appendString(dst, fLink, h.Link)
	dst = appendString(dst, fDest, h.Dest)
	dst = appendString(dst, fCountry, h.Country)
	dst = appendString(dst, fRegion, h.Region)
	dst = appendString(dst, fCity, h.City)
	if h.agent != nil && len(h.Hints) == 0 {
		dst = append(dst, h.agent...)
	} else {
		dst = appendAgent(dst, h)
	}
	dst = appendBool(dst, fBot, h.Bot)
	dst = appendString(dst, fBotKind, h.BotKind)
	dst = appendUint(dst, fStatus, uint64(int64(h.Status)))
	dst = appendMap(dst, fProps, h.Props)
	if h.Campaign != (Campaign{}) {
		dst = appendString(dst, fUTMSource, h.Campaign.Source)
		dst = appendString(dst, fUTMMedium, h.Campaign.Medium)
		dst = appendString(dst, fUTMCampaign, h.Campaign.Name)
		dst = appendString(dst, fUTMTerm, h.Campaign.Term)
		dst = appendString(dst, fUTMContent, h.Campaign.Content)
	}
	dst = appendString(dst, fCurrency, h.Revenue.Currency)
	dst = appendString(dst, fAmount, h.Revenue.Amount)
	dst = appendUint(dst, fScrollPercent, uint64(int64(h.ScrollPercent)))
	dst = appendUint(dst, fEngagedMs, uint64(h.EngagedMs))
	dst = appendBool(dst, fNonInteractive, h.NonInteractive)
	dst = appendString(dst, fRegionCode, h.RegionCode)
	dst = appendUint(dst, fASN, uint64(h.ASN))
	dst = appendString(dst, fASName, h.ASName)
	dst = appendString(dst, fClickID, h.ClickID)
	dst = appendString(dst, fLanguage, h.Language)
	return appendUint(dst, fScreenWidth, uint64(int64(h.ScreenWidth)))
}

// appendAgent writes the fields from Agent to Device.
func appendAgent(dst []byte, h *Hit) []byte {
	dst = appendString(dst, fAgent, h.Agent)
	dst = appendMap(dst, fHints, h.Hints)
	dst = appendString(dst, fBrowser, h.Browser)
	dst = appendString(dst, fBrowserVersion, h.BrowserVersion)
	dst = appendString(dst, fOS, h.OS)
	dst = appendString(dst, fOSVersion, h.OSVersion)
	return appendString(dst, fDevice, h.Device)
}

// EncodeAgent returns the fields Agent, Browser, BrowserVersion, OS, OSVersion and Device as they are written, for SetAgent.
func (h *Hit) EncodeAgent() []byte { return appendAgent(nil, h) }

// SetAgent has Append write these bytes for the fields that EncodeAgent lists, of a hit with the same ones: few agents make nearly all hits, and
// these fields are half of a record. They are not looked at when the hit has hints. Whoever changes one of the fields afterwards
// calls it with nil.
func (h *Hit) SetAgent(encoded []byte) { h.agent = encoded }

// appendTag writes the tag of a field with a number below 2048. Like appendVarint it is protowire's with the short forms first: nearly all
// tags and lengths here take one or two bytes.
func appendTag(dst []byte, num protowire.Number, typ protowire.Type) []byte {
	tag := uint32(num)<<3 | uint32(typ)
	if tag < 0x80 {
		return append(dst, byte(tag))
	}
	return append(dst, byte(tag)|0x80, byte(tag>>7))
}

func appendVarint(dst []byte, v uint64) []byte {
	if v < 0x80 {
		return append(dst, byte(v))
	}
	return protowire.AppendVarint(dst, v)
}

func appendUint(dst []byte, num protowire.Number, v uint64) []byte {
	if v == 0 {
		return dst
	}
	return appendVarint(appendTag(dst, num, protowire.VarintType), v)
}

func appendFixed(dst []byte, num protowire.Number, v uint64) []byte {
	if v == 0 {
		return dst
	}
	return protowire.AppendFixed64(appendTag(dst, num, protowire.Fixed64Type), v)
}

func appendBool(dst []byte, num protowire.Number, v bool) []byte {
	if !v {
		return dst
	}
	return append(appendTag(dst, num, protowire.VarintType), 1)
}

func appendString(dst []byte, num protowire.Number, s string) []byte {
	if s == "" {
		return dst
	}
	s = validText(s)
	dst = appendVarint(appendTag(dst, num, protowire.BytesType), uint64(len(s)))
	return append(dst, s...)
}

func validText(s string) string {
	if utf8.ValidString(s) {
		return s
	}
	return strings.ToValidUTF8(s, "\uFFFD")
}

// appendMap writes the entries in key order, so that equal hits give equal bytes.
func appendMap(dst []byte, num protowire.Number, m map[string]string) []byte {
	if len(m) == 0 {
		return dst
	}
	keys := make([]string, 0, len(m))
	for key := range m {
		keys = append(keys, key)
	}
	slices.Sort(keys)
	for _, key := range keys {
		k, v := validText(key), validText(m[key])
		dst = protowire.AppendTag(dst, num, protowire.BytesType)
		dst = protowire.AppendVarint(dst, uint64(2+protowire.SizeBytes(len(k))+protowire.SizeBytes(len(v))))
		dst = protowire.AppendTag(dst, 1, protowire.BytesType)
		dst = protowire.AppendString(dst, k)
		dst = protowire.AppendTag(dst, 2, protowire.BytesType)
		dst = protowire.AppendString(dst, v)
	}
	return dst
}
