package importer

import "strings"

// assets are endings of files that pages load or that machines ask for, in lower case.
var assets = func() map[string]bool {
	set := map[string]bool{}
	for ending := range strings.FieldsSeq(`css js mjs cjs map json jsonld webmanifest xml rss atom txt ico png jpg jpeg gif svg webp avif bmp tif tiff heic
		xbm cur woff woff2 ttf otf eot mp3 mp4 m4a m4v mov avi mkv webm ogg ogv oga wav flac aac mpg mpeg wasm zip gz bz2 xz zst 7z rar tar tgz
		jar war exe msi dmg iso deb rpm apk bin pdf doc docx xls xlsx ppt pptx csv swf ts m3u8 mpd vtt gpg asc sig sha256`) {
		set[ending] = true
	}
	return set
}()

// IsPageview reports whether a request showed a page to its sender: GET, status 200 or 304, and not a file that pages load.
func IsPageview(method string, status int, path string) bool {
	return method == "GET" && (status == 200 || status == 304) && !IsAsset(path)
}

// IsAsset reports whether a path ends like a file that is not a page.
func IsAsset(path string) bool {
	name := path[strings.LastIndexByte(path, '/')+1:]
	dot := strings.LastIndexByte(name, '.')
	if dot < 0 || len(name)-dot > 12 {
		return false
	}
	return assets[strings.ToLower(name[dot+1:])]
}
