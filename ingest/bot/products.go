package bot

import "strings"

// desktopProducts are the products that browsers on desktop systems name, in lower case. A product that is not among them stands for a
// program that drives or copies a browser.
var desktopProducts = setOf(`
	mozilla applewebkit khtml gecko chrome safari version firefox edg edge opr opera presto trident vivaldi yabrowser yowser brave
	chromium ubuntu fedora debian iceweasel icecat seamonkey palemoon waterfox thunderbird epiphany midori konqueror falkon qutebrowser
	qqbrowser core metasr se ubrowser ucbrowser quark quarkpc samsungbrowser huaweibrowser hbpc whale coc_coc_browser corom coccoc
	maxthon mxbrowser mxnitro iron chromeplus comodo_dragon dragon slbrowser slbchan lbbrowser bidubrowser theworld 360se 360ee qihu
	puffin silk silk-accelerated duckduckgo ddg opt opx oprgx opxi edgw edgios edga crios fxios gsa avast avg ccleaner norton
	avastsecurebrowser atom electron obsidian discord slack teams notion postman figma
	wechat micromessenger wxwork windowswechat macwechat xweb mmwebsdk mmwebid nettype language abi weixin mobile tablet line dingtalk
	aliapp alipayclient baidubrowser bdbrowser songbird swiftfox shiretoko namoroka minefield camino flock epic sleipnir lunascape
	ilunascape netscape navigator rockmelt swing comodo coolnovo sogou sogoumobilebrowser aol aolbuild osk bingsapphire sapphire
	ecosia startpage otter dolfin browser web naver kakaotalk mrchrome bdspark flyflow crosswalk unity unityplayer
	qtwebengine qtwebkit qt tesla qtcarbrowser webkitgtk wpe ovi gnome webview webview2 wpdesktop lumia
	steam valve gamepad overwolf riotclient epicgameslauncher webappmanager hbbtv nintendobrowser nx omi vizio-dtv
	kubuntu xubuntu mint suse opensuse redhat centos gentoo arch mandriva slackware pclinuxos mageia linux
	media instagram facebook fban fbav fb_iab snapchat pinterest tiktok musical_ly twitter linkedinapp
	adguard vewd duck mypal basilisk librewolf floorp zen arc dia comet sidekick wavebox shift station beaker min klar focus
	like spotify mms qbcore servo conkeror k-meleon arora mnenhy xfce
	herring likewise atcontent unique agency gls trailer viewer openwave adg bing worldwide seraph nethelper70 catsxp config reading
	hola tor torbrowser ghostery cliqz aloha kiwi phoenix surf luakit dooble netsurf links
	`)

func setOf(list string) map[string]bool {
	set := map[string]bool{}
	for name := range strings.FieldsSeq(list) {
		set[strings.ToLower(name)] = true
	}
	return set
}

// strangeProduct judges the products of a desktop browser's string that stand outside of parentheses and brackets. Programs built on
// Electron are browsers with a name of their own.
func strangeProduct(ua string) string {
	if strings.Contains(ua, "Electron/") {
		return ""
	}
	depth := 0
	for i := 0; i < len(ua); {
		switch c := ua[i]; {
		case c == '(' || c == '[':
			depth++
			i++
		case c == ')' || c == ']':
			depth--
			i++
		case depth > 0 || c == ' ' || c == ';' || c == ',':
			i++
		default:
			end := i
			for end < len(ua) && ua[end] != ' ' && ua[end] != ';' && ua[end] != '(' && ua[end] != ')' && ua[end] != '[' && ua[end] != ',' {
				end++
			}
			if !known(ua[i:end]) {
				return KindUnlikely
			}
			i = end
		}
	}
	return ""
}

// known reports whether a word of an agent string is a browser's product, a version, or too short to say anything.
func known(word string) bool {
	name, _, _ := strings.Cut(word, "/")
	name = strings.ToLower(name)
	if len(name) < 3 || desktopProducts[name] || strings.HasSuffix(name, "browser") {
		return true
	}
	for i := range len(name) {
		if c := name[i]; (c < '0' || c > '9') && c != '.' && c != '_' && c != '-' && c != '+' {
			return false
		}
	}
	return true
}
