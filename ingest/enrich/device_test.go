package enrich

import "testing"

// TestAModelTellsTheKindOfDevice: the words around the model say "Mobile" of all of them, or of none.
func TestAModelTellsTheKindOfDevice(t *testing.T) {
	for model, want := range map[string]string{
		"SM-T870": "tablet", "SM-X200": "tablet", "GT-P5110": "tablet", "TB-X606F": "tablet", "Lenovo TB-J606F": "tablet", "KFTRWI": "tablet", "24091RPADC": "tablet",
		"23043RP34G": "tablet", "AGS3-L09": "tablet", "Pixel Tablet": "tablet", "moto tab g70": "tablet", "Redmi Pad": "tablet", "OPD2102": "tablet", "Tab_8_Pro": "tablet",
		"AFTKA": "tv", "BRAVIA 4K VH2": "tv", "MIBOX4": "tv", "43LE7052D": "tv", "HTY-32H06B-VZ": "tv", "U50E9100Q": "tv", "SM-LED43M03SU": "tv", "X96_Max": "tv", "Smart Box F3": "tv",
		"SM-R870": "wearable", "TicWatch Pro 5": "wearable", "AEOAT": "smart speaker", "SHIELD Tablet K1": "tablet", "Samsung Chromebook 3": "desktop",
	} {
		for _, mobile := range []string{"Mobile ", ""} {
			ua := "Mozilla/5.0 (Linux; Android 12; " + model + " Build/X1) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/130.0.0.0 " + mobile + "Safari/537.36"
			if got := ParseAgent(ua).Device; got != want {
				t.Errorf("%s, %q: got %q, want %q", model, mobile, got, want)
			}
		}
	}
	for _, model := range []string{"SM-S918B", "SM-A546E", "Pixel 8", "CPH2581", "22101316G", "2201117TY", "24117RN76L", "M2101K6G", "V2330", "TECNO AE10", "Redmi Note 12", "moto g84 5G",
		"Hisense E50 Lite 64GB", "ZTE Blade A54", "XQ-DC54", "HUAWEI P40 lite", "Nokia 6.1", "Infinix X6711", "RMX3630"} {
		ua := "Mozilla/5.0 (Linux; Android 14; " + model + ") AppleWebKit/537.36 (KHTML, like Gecko) Chrome/130.0.0.0 Mobile Safari/537.36"
		if got := ParseAgent(ua).Device; got != "mobile" {
			t.Errorf("%s: got %q", model, got)
		}
	}
}

func TestModelsAreFoundInAgents(t *testing.T) {
	for ua, want := range map[string]string{
		"Mozilla/5.0 (Linux; Android 13; SM-T870 Build/TP1A; wv) AppleWebKit/537.36":                  "SM-T870",
		"Mozilla/5.0 (Linux; U; Android 4.0.3; en-us; KFOT Build/IML74K) AppleWebKit/534.30":          "KFOT",
		"Mozilla/5.0 (Linux; Android 12; HarmonyOS; GRL-AL10; HMSCore 6.14.0.309) AppleWebKit/537.36": "GRL-AL10",
		"Mozilla/5.0 (Linux; Android 10; K) AppleWebKit/537.36":                                       "",
		"Mozilla/5.0 (Android 14; Mobile; rv:143.0) Gecko/143.0 Firefox/143.0":                        "",
		"Mozilla/5.0 (Windows NT 10.0; Win64; x64)":                                                   "",
		"Android":                         "",
		"Mozilla/5.0 (Linux; Android 13;": "",
	} {
		if got := model(ua); got != want {
			t.Errorf("%s: got %q, want %q", ua, got, want)
		}
	}
}

func TestHintsTellTheKindOfDevice(t *testing.T) {
	for _, test := range []struct{ forms, model, want string }{
		{"", "", ""}, {`""`, `""`, ""}, {`"Tablet"`, `"Pixel 8"`, "tablet"}, {`"Mobile"`, "", "mobile"}, {`"Desktop"`, "", "desktop"}, {`"XR", "Desktop"`, "", "wearable"},
		{"", `"SM-X200"`, "tablet"}, {"", `"Pixel 8"`, "mobile"}, {"", `"K"`, ""}, {`"Automotive", "Tablet"`, "", "car browser"},
	} {
		if got := Device(test.forms, test.model); got != test.want {
			t.Errorf("%s, %s: got %q, want %q", test.forms, test.model, got, test.want)
		}
	}
}

// FuzzParseAgent: no panic, and nothing is made up beyond the string.
func FuzzParseAgent(f *testing.F) {
	f.Add("Mozilla/5.0 (Linux; Android 13; SM-T870 Build/TP1A; wv) AppleWebKit/537.36 Chrome/130.0.0.0 Mobile Safari/537.36")
	f.Add("Mozilla/5.0 (Linux; U; Android 4.0.3; en-us; 43LE7052D")
	f.Fuzz(func(t *testing.T, ua string) {
		a := ParseAgent(ua)
		if len(a.BrowserVersion) > 16 || len(a.OSVersion) > 16 || len(model(ua)) > len(ua) {
			t.Fatalf("%q: %+v", ua, a)
		}
	})
}

func BenchmarkParseAgent(b *testing.B) {
	for name, ua := range map[string]string{
		"desktop": "Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/138.0.0.0 Safari/537.36",
		"phone":   "Mozilla/5.0 (Linux; Android 13; SM-S918B Build/TP1A; wv) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/130.0.0.0 Mobile Safari/537.36",
	} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				ParseAgent(ua)
			}
		})
	}
}
