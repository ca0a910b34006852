package hit

import (
	"fmt"
	"unsafe"

	"google.golang.org/protobuf/encoding/protowire"
)

// Parse decodes one record into h, replacing all that was in it. The text of h shares one copy of data, so keeping a single field for
// long keeps the whole record: clone what goes into a map. On an error h is partly filled and must not be used. Errors are ErrNotHit.
func Parse(data []byte, h *Hit) error {
	return parse(string(data), h)
}

// Borrow is Parse without the copy: the text of h points into data, so h must not be used after data is changed or reused.
func Borrow(data []byte, h *Hit) error {
	return parse(unsafe.String(unsafe.SliceData(data), len(data)), h)
}

func parse(text string, h *Hit) error {
	*h = Hit{}
	// protowire reads bytes; text never changes, so viewing it as bytes is safe as long as nobody writes to data.
	data := unsafe.Slice(unsafe.StringData(text), len(text))
	for pos := 0; pos < len(data); {
		num, typ, n := protowire.ConsumeTag(data[pos:])
		if n < 0 {
			return fmt.Errorf("%w: byte %d: bad field tag", ErrNotHit, pos)
		}
		pos += n
		switch typ {
		case protowire.VarintType:
			v, n := protowire.ConsumeVarint(data[pos:])
			if n < 0 {
				return fmt.Errorf("%w: byte %d: field %d is cut off", ErrNotHit, pos, num)
			}
			h.setUint(num, v)
			pos += n
		case protowire.Fixed64Type:
			v, n := protowire.ConsumeFixed64(data[pos:])
			if n < 0 {
				return fmt.Errorf("%w: byte %d: field %d is cut off", ErrNotHit, pos, num)
			}
			h.setFixed(num, v)
			pos += n
		case protowire.BytesType:
			size, n := protowire.ConsumeVarint(data[pos:])
			if n < 0 || size > uint64(len(data)-pos-n) {
				return fmt.Errorf("%w: byte %d: field %d is cut off", ErrNotHit, pos, num)
			}
			pos += n
			if err := h.setString(num, text[pos:pos+int(size)]); err != nil {
				return err
			}
			pos += int(size)
		default:
			n := protowire.ConsumeFieldValue(num, typ, data[pos:])
			if n < 0 {
				return fmt.Errorf("%w: byte %d: field %d is cut off", ErrNotHit, pos, num)
			}
			pos += n
		}
	}
	if h.Version == 0 || h.SiteID == 0 {
		return fmt.Errorf("%w: no version or no site", ErrNotHit)
	}
	return nil
}

func (h *Hit) setUint(num protowire.Number, v uint64) {
	switch num {
	case fVersion:
		h.Version = uint32(v)
	case fSequence:
		h.ID.Seq = v
	case fSiteID:
		h.SiteID = uint32(v)
	case fTimeMs:
		h.TimeMs = int64(v)
	case fReceivedMs:
		h.ReceivedMs = int64(v)
	case fKind:
		h.Kind = kindOf(v)
	case fBot:
		h.Bot = v != 0
	case fStatus:
		h.Status = int(int32(v))
	case fScrollPercent:
		h.ScrollPercent = int(int32(v))
	case fEngagedMs:
		h.EngagedMs = int64(v)
	case fNonInteractive:
		h.NonInteractive = v != 0
	case fASN:
		h.ASN = uint32(v)
	case fScreenWidth:
		h.ScreenWidth = int(int32(v))
	}
}

// kindOf keeps a kind of a later version apart from all known ones, and from none.
func kindOf(v uint64) Kind {
	if v > 255 {
		return 255
	}
	return Kind(v)
}

func (h *Hit) setFixed(num protowire.Number, v uint64) {
	switch num {
	case fVisitor:
		h.Visitor = v
	case fVisitorNext:
		h.VisitorNext = v
	}
}

func (h *Hit) setString(num protowire.Number, s string) error {
	switch num {
	case fSource:
		h.ID.Source = s
	case fClientID:
		h.ClientID = s
	case fSite:
		h.Site = s
	case fName:
		h.Name = s
	case fHost:
		h.Host = s
	case fPath:
		h.Path = s
	case fQuery:
		h.Query = s
	case fFragment:
		h.Fragment = s
	case fTitle:
		h.Title = s
	case fReferrer:
		h.Referrer = s
	case fRefHost:
		h.RefHost = s
	case fLink:
		h.Link = s
	case fDest:
		h.Dest = s
	case fCountry:
		h.Country = s
	case fRegion:
		h.Region = s
	case fCity:
		h.City = s
	case fAgent:
		h.Agent = s
	case fHints:
		return setEntry(&h.Hints, s)
	case fBrowser:
		h.Browser = s
	case fBrowserVersion:
		h.BrowserVersion = s
	case fOS:
		h.OS = s
	case fOSVersion:
		h.OSVersion = s
	case fDevice:
		h.Device = s
	case fBotKind:
		h.BotKind = s
	case fProps:
		return setEntry(&h.Props, s)
	case fUTMSource:
		h.Campaign.Source = s
	case fUTMMedium:
		h.Campaign.Medium = s
	case fUTMCampaign:
		h.Campaign.Name = s
	case fUTMTerm:
		h.Campaign.Term = s
	case fUTMContent:
		h.Campaign.Content = s
	case fCurrency:
		h.Revenue.Currency = s
	case fAmount:
		h.Revenue.Amount = s
	case fRegionCode:
		h.RegionCode = s
	case fASName:
		h.ASName = s
	case fClickID:
		h.ClickID = s
	case fLanguage:
		h.Language = s
	}
	return nil
}

// setEntry decodes one entry of a map field: key = 1, value = 2.
func setEntry(m *map[string]string, entry string) error {
	var key, value string
	data := unsafe.Slice(unsafe.StringData(entry), len(entry))
	for pos := 0; pos < len(data); {
		num, typ, n := protowire.ConsumeTag(data[pos:])
		if n < 0 {
			return fmt.Errorf("%w: bad map entry", ErrNotHit)
		}
		pos += n
		size := protowire.ConsumeFieldValue(num, typ, data[pos:])
		if size < 0 {
			return fmt.Errorf("%w: map entry is cut off", ErrNotHit)
		}
		if typ == protowire.BytesType && (num == 1 || num == 2) {
			_, n := protowire.ConsumeVarint(data[pos:])
			if num == 1 {
				key = entry[pos+n : pos+size]
			} else {
				value = entry[pos+n : pos+size]
			}
		}
		pos += size
	}
	if *m == nil {
		*m = make(map[string]string, 4)
	}
	(*m)[key] = value
	return nil
}
