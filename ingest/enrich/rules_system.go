package enrich

import "strings"

// systemRule names an operating system by a word in the agent string; the version stands behind the word.
type systemRule struct {
	word, name string
	parts      int // numbers of the version that are kept
}

// systemRules are tried in order: systems that name another one for compatibility come first.
var systemRules = []systemRule{
	{"Windows Phone OS ", "Windows Phone", 1},
	{"Windows Phone ", "Windows Phone", 1},
	{"Windows Mobile", "Windows Phone", 1},
	{"KAIOS/", "KaiOS", 2},
	{"KaiOS/", "KaiOS", 2},
	{"SM-R8", "Wear OS", 0},
	{"SM-R9", "Wear OS", 0},
	{"Wear OS", "Wear OS", 0},
	{"_AFT", "Android", 0},
	{"; KF", "Fire OS", 0}, // Amazon's tablets
	{"Tizen ", "Tizen", 2},
	{"Tizen", "Tizen", 1},
	{"OpenHarmony ", "HarmonyOS", 1},
	{"HarmonyOS ", "HarmonyOS", 1},
	{"HarmonyOS", "HarmonyOS", 0},
	{"CrKey", "Chromecast", 0},
	{"Web0S", "webOS", 0},
	{"WebOS", "webOS", 0},
	{"webOS", "webOS", 0},
	{"iPhone OS ", "iOS", 2},
	{"iPad; CPU OS ", "iOS", 2},
	{"iPod", "iOS", 0},
	{"CPU OS ", "iOS", 2},
	{"iPhone", "iOS", 0},
	{"iPad", "iOS", 0},
	{"Android ", "Android", 1},
	{"Android", "Android", 0},
	{"Adr ", "Android", 1},
	{"CrOS ", "Chrome OS", 0},
	{"BlackBerry", "BlackBerry OS", 0},
	{"BB10", "BlackBerry OS", 0},
	{"PlayStation", "PlayStation", 0},
	{"Nintendo", "Nintendo", 0},
	{"Mac OS X ", "macOS", 2},
	{"Macintosh", "macOS", 0},
	{"Mac_PowerPC", "macOS", 0},
	{"FreeBSD", "FreeBSD", 0},
	{"OpenBSD", "OpenBSD", 0},
	{"NetBSD", "NetBSD", 0},
	{"SunOS", "Solaris", 0},
	{"SymbianOS/", "Symbian OS", 1},
	{"Symbian", "Symbian OS", 0},
	{"Series60", "Symbian OS", 0},
}

// windowsVersions are the names of versions of Windows NT. 10 stands for 11 too: agent strings do not tell them apart.
var windowsVersions = []struct{ nt, name string }{
	{"10.0", "10"}, {"11.0", "11"}, {"6.3", "8.1"}, {"6.2", "8"}, {"6.1", "7"}, {"6.0", "Vista"}, {"5.2", "XP"}, {"5.1", "XP"}, {"5.0", "2000"},
}

// system names the operating system of an agent string.
func system(ua string) (name, ver string) {
	for i := range systemRules {
		rule := &systemRules[i]
		at := token(ua, rule.word)
		if at < 0 {
			continue
		}
		if rule.name == "macOS" && strings.HasPrefix(ua, "Mozilla/5.0 (iP") {
			return "iOS", ""
		}
		if rule.parts == 0 {
			return rule.name, ""
		}
		if rule.name == "Android" && strings.HasPrefix(ua[at:], "10; K)") {
			return rule.name, "" // what Chromium writes for every version
		}
		return rule.name, strings.ReplaceAll(version(ua[at:], rule.parts), "_", ".")
	}
	if at := token(ua, "Windows"); at >= 0 {
		return "Windows", windowsVersion(ua[at:])
	}
	switch {
	case strings.Contains(ua, "CFNetwork") && strings.Contains(ua, "Darwin"):
		if strings.Contains(ua, "x86_64") || strings.Contains(ua, "i386") {
			return "macOS", ""
		}
		return "iOS", ""
	case has(ua, "Linux"), has(ua, "X11"), has(ua, "Ubuntu"):
		return "Linux", ""
	}
	return "", ""
}

func windowsVersion(after string) string {
	nt, ok := strings.CutPrefix(after, " NT ")
	if !ok {
		return ""
	}
	for _, v := range windowsVersions {
		if strings.HasPrefix(nt, v.nt) {
			return v.name
		}
	}
	return ""
}
