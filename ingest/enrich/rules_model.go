package enrich

import "strings"

// modelKinds tell the kind of an Android device by how its model begins, in lower case. The model is the only thing in the string that tells a tablet
// that says "Mobile", a phone that asks for the pages of desktops, or a box for a television set. Codes are those that makers give their own lines:
// Samsung's SM-T, Lenovo's TB, Amazon's KF and AFT, Huawei's and Honor's three letters. The longest one that fits decides.
var modelKinds = func() map[string]string {
	kinds := map[string]string{}
	for kind, words := range map[string]string{
		"tablet": `sm-t sm-x sm-p gt-p gt-n51 gt-n80 n5110 sht-p samsung-sm-t samsung-gt-p tb- tb1 tb2 tb3 tb7 tb8 yt- yt3- yt4- yt-x lenovo_tb lenovotb lenovo_yt lenovo_tab
			nexus_7 nexus_9 nexus_10 pixel_c pixel_tablet shield_tablet kindle kftt kfot kfjwi kfjwa kfso kfth kfap kfar kfas kfsa kfme kffo kfgi kfau kfdo kfsu kfka kfmu kfon kfma kftr kfqu kfps kfra kfsn kfsub kftb
			mediapad ags- ags2- ags3- ags5- ags6- agr- agm3- agm- bah- bah2- bah3- bah4- jdn- jdn2- kob- kob2- kobe- sht- scm- scmr- mrx- mrr- dby- dby2- dbr- wgr- wgrr- got- btk- btkr- vrd- cmr- mon-w bg2- bzt- bzk- btv- cpn- lrm-  bth- eyr-
			jms- hey-w hey2- hey3- rod- rod2- brt- dna- eln- krj- krj2- ndl- hjc- hdn- agt- vat- jmsn-
			mi_pad mipad redmi_pad xiaomi_pad 21051182 22081283 m2105k81 opd rmp2 rmp1 pa2 ipa2 dpd oneplus_pad oppo_pad vivo_pad realme_pad honor_pad nokia_t10 nokia_t20 nokia_t21 ta-1392 ta-1394 ta-1397 ta-1457 ta-1462 ta-1472 ta-1487 ta-1495 ta-1503 ta-1505 ta-1512
			moto_tab xoom mz60 lg-v lm-t600 vk810 vk815 lg-ut sgp sot21 sot31 sony_tablet asus_p0 asus_p1 p00 p01 p02 me17 me30 me37 me57 k00 k01 tf10 tf20 tf30 tf70 transformer asus_tab
			a1-7 a1-8 a3-a b1-7 b1-8 b3-a iconia actab hp_slate slate_ venue dell_venue  archos1 archos7 archos8 archos9 toshiba_at at10 at30 at7 at1s
			rct6 rct7 qmv7 qta ematic dl10 dl7 dl8 mid1 mid7 mid9 tpc tpd onda_  hi10 hipad iplay alldocube teclast  p20hd p20s p25t p30hd p30s p40hd m40 m50 t40_ t40s t40p t50_ t60_ t65 x98 ainol
			8491 8492 8493 8188 8088 8089 8090 8094 8095 8096 8098 8082 8084 8085 9003 9005 9007 9008 9010 9013 9020 9022 9024 9025 9026 9027 9029 9032 9038 9048 9049 9081 9132 9136 9137 9160 9183 9186 9188 9195 9198 9295 9296 9309 9317 9445 9460 9461 9466 9468 9469 9491 9492 9493
			boox onyx pocketbook tolino bntv nook surface_duo t-tablet infinix_x11 itel_p1000 itel_w tecno_p70 citi_ optima plane_ m10_ m10- m10a m10l m10e m8l contixo hanson_ masstel_tab chuwi archos_7 archos_8 archos_9 archos_10 archos_access_7 archos_access_10 lavie docomo_d-0 d-01 d-02 d-41 d-42 d-52 f-02k f-04h sh-05g sh-06f kyt31 kyt32 kyt33 lgt01 lgt31 lgt32 sot sc-01h lav-tab
			doogee_t t10k t10_ t20mini t30 rt1 rt2 rt3 rt5 rt6 rt7 rt8 rt9 ot5 ot6 ot8 ot11 bl-tab armor_pad readboy_ readboy xdf bbk-h npad ddpad`,
		"tv": `aft adt- adt3 mitv mibox mi_box mi_tv mdz- bravia chromecast google_tv nexus_player shield_android shield_tv foundation h96 x96 x88 x98q tx2 tx3 tx5 tx6 tx8 tx9 t95 mxq mx9 mx10 mxiii m8s hk1 a95x q96 q+ km1 km2 km3 km5 km6 km7 km8 km9 mecool kd1 kd2 kd3 kd5 kiii
			tanix minix neo-u neo-x beelink gt-king gtking gt_king nexon nexbox freebox bbox bouygtel vodafone_tv stb iptv ott sti6 tpm1 tpm2 philips_and   vidaa hismart haier_tv   letv lemax_tv imtm aosp_on_r rk30 rk32 rk33 p200 p201 p212 p281 u215 b866 b860 zte_b8 zte_b7 ct-8 yndx-0 evpad allente bell_streamer telia tp01 matador switron netta vorke movix iconbit  uiw4 uie4 dv6 dv8 dv9 hp44
			smart_tv smarttv smart-tv tv_ tvbox tv_box android_tv androidtv beyondtv xstream  jiostb jhsd orbsmart wetek magicbox tmall transpeed vontar magicsee ugoos zidoo himedia formuler amazon_fire_tv firetv tcl_smart    `,
		"smart speaker": "aeohp aeoat aeobc aeobp aeocn aeocw aeota aeokn aeorh echo_show lenovo_sd lenovo_smart nest_hub",
		"console":       "razer_edge switch rgcube rg4 rg5 shield_portable ayn_ odin retroid anbernic    gpd logitech_g_cloud gr0006",
		"wearable": `sm-r8 sm-r9 sm-r7 sm-r6 sm-r3 sm-r5 sm-l3 sm-l5 sm-l7 ticwatch pixel_watch fossil opww oww oppo_watch oneplus_watch mi_watch lemfo lem4 lem5 lem7 lem8 lem9 lem10 lem11 lem12 lem13 lem14 lem15 lem16 kospet zeblaze thor_ x9_call
			dm98 dm99 dm100 dm101 dm30 finow kw88 kw99 huawei_watch moto_360 smartwatch`,
		"peripheral":            "projector xgimi dangbei jmgo mogo_ neoviu miproj xming odroid orangepi sunmi p2_pro p2lite p2mini v2s_plus wpos pax a910 a920 a930 n910 n950 urovo newland nls- scn i9100/ dt50 cm5_pos poynt clover verifone ingenico axium",
		"portable media player": "nw-a nw-z nw-w fiio hiby ibasso dx160 dx220 dx240 dx260 dx300 dx320 shanling astell a&k mechen ruizu innioasis walkman hidizs cayin_n",
		"car browser":           "byd_auto dilink zlink yt57 yt72 yt92 sda-8 aivi dudu",
		"mobile": `v1 v2 i1 i2 v2_ tecno infinix itel cph rmx realme_ sm-s sm-a sm-g sm-m sm-n sm-j sm-e sm-f sm-c sm-w pixel pixel_ nexus_4 nexus_5 nexus_6 redmi redmi_ mi_ mi_note m2 m1 poco xiaomi oneplus le2 in2 kb2 ne2 gm1 hd1 oppo vivo moto moto_ xt1 xt2 motorola
			lm- lg-h lg-k lg-m lg-d nokia ta-1 htc zte blade huawei honor asus_x asus_i asus_z zenfone sony xq- so- sov sog f-5 sh- shv a0 a1 fairphone fp3 fp4 fp5 cubot blackview bv doogee s9 oukitel wp ulefone umidigi armor meizu nubia nx hmd crosscall cat lenovo_k lenovo_a lenovo_p lenovo_l wiko w-k w-v`,
	} {
		for word := range strings.FieldsSeq(words) {
			kinds[strings.ReplaceAll(word, "_", " ")] = kind
		}
	}
	return kinds
}()

const (
	minModelWord = 2
	maxModelWord = 14
)

// model returns the model in an Android agent string, "" when there is none: what stands behind the version, without the language and with "Build" cut
// away.
func model(ua string) string {
	at := strings.Index(ua, "Android")
	if at < 0 {
		return ""
	}
	rest := ua[at:]
	if end := strings.IndexByte(rest, ')'); end >= 0 {
		rest = rest[:end]
	}
	_, rest, ok := strings.Cut(rest, ";")
	for ok {
		var part string
		part, rest, ok = strings.Cut(rest, ";")
		part = strings.TrimSpace(part)
		if build := strings.Index(part, "Build/"); build >= 0 {
			part = strings.TrimSpace(part[:build])
		}
		switch {
		case part == "", part == "wv", part == "U", part == "K", part == "Mobile", part == "Tablet", part == "HarmonyOS", isLocale(part), strings.HasPrefix(part, "rv:"), strings.HasPrefix(part, "HMSCore"):
		default:
			return part
		}
	}
	return ""
}

// isLocale reports whether text is a language as old strings have it: "de-de", "zh_CN", "en".
func isLocale(text string) bool {
	switch len(text) {
	case 2:
		return isLetter(text[0]) && isLetter(text[1]) && text[0] >= 'a'
	case 5:
		return isLetter(text[0]) && isLetter(text[1]) && (text[2] == '-' || text[2] == '_') && isLetter(text[3]) && isLetter(text[4])
	}
	return false
}

// kindOfModel tells the kind of a model, "" when it is not known.
func kindOfModel(model string) string {
	var buf [maxModelWord]byte
	n := min(len(model), maxModelWord)
	for i := range n {
		c := model[i]
		switch {
		case c >= 'A' && c <= 'Z':
			c |= 0x20
		case c == '_':
			c = ' '
		}
		buf[i] = c
	}
	if isXiaomiPad(model) {
		return "tablet"
	}
	if kind := kindByWords(model); kind != "" {
		return kind
	}
	for end := n; end >= minModelWord; end-- {
		if kind, ok := modelKinds[string(buf[:end])]; ok {
			return kind
		}
	}
	return ""
}

// isXiaomiPad reports whether a model is a tablet of Xiaomi's numbers: year and month, digits, and RP among the letters, as in 23043RP34C.
func isXiaomiPad(model string) bool {
	digits := 0
	for digits < len(model) && isDigit(model[digits]) {
		digits++
	}
	if digits < 4 || digits > 6 {
		return false
	}
	rest := model[digits:]
	return strings.HasPrefix(rest, "RP") || len(rest) > 3 && strings.HasPrefix(rest[1:], "RP")
}

// kindByWords tells the kind of a model that says it in words, or by the size of a television set.
func kindByWords(model string) string {
	switch {
	case hasFold(model, "chromebook"), hasFold(model, "pixelbook"):
		return "desktop"
	case hasFold(model, "projector"):
		return "peripheral"
	case isScreenSize(model), hasFold(model, "box"), hasFold(model, "dongle"), hasFold(model, "media stick"), saysTV(model):
		return "tv"
	case hasFold(model, "tab") && !hasFold(model, "table"), hasFold(model, "pad") && !hasFold(model, "padfone"), hasFold(model, "kids"):
		return "tablet"
	}
	return ""
}

// hasFold is strings.Contains for a word in lower case, whatever the case of text.
func hasFold(text, word string) bool {
	for i := 0; i+len(word) <= len(text); i++ {
		if strings.EqualFold(text[i:i+len(word)], word) {
			return true
		}
	}
	return false
}

// saysTV reports whether TV, or LED and a size, is a word of a model: "HTV-55U11B", "SWTV-20AE", "Smart TV", "SM-LED43M03SU".
func saysTV(model string) bool {
	for i := 0; i+2 <= len(model); i++ {
		if strings.EqualFold(model[i:i+2], "tv") && (i+2 == len(model) || !isLetter(model[i+2])) && (i == 0 || !isDigit(model[i-1])) {
			return true
		}
		if i+5 <= len(model) && model[i:i+3] == "LED" && isDigit(model[i+3]) && isDigit(model[i+4]) {
			return true
		}
	}
	return false
}

// isScreenSize reports whether a part of a model is that of a television set: inches of a size that those have, and then letters and digits, alone
// or behind a letter or two: 43LE7052D, HTY-32H06B-VZ, U50E9100Q. Phones have no such sizes, and numbers of more digits.
func isScreenSize(model string) bool {
	for start := 0; start < len(model); {
		end := start
		for end < len(model) && model[end] != '-' && model[end] != '_' && model[end] != ' ' {
			end++
		}
		part := model[start:end]
		letters := 0
		for letters < len(part) && letters < 3 && part[letters] >= 'A' && part[letters] <= 'Z' {
			letters++
		}
		rest := part[letters:]
		if len(rest) >= 4 && (letters == 0 || len(part) >= 8) && isInches(rest[:2]) && rest[2] >= 'A' && rest[2] <= 'Z' {
			return true
		}
		start = end + 1
	}
	return false
}

func isInches(text string) bool {
	switch text {
	case "24", "28", "32", "39", "40", "42", "43", "48", "49", "50", "55", "58", "65", "70", "75", "77", "82", "85", "86", "98":
		return true
	}
	return false
}
