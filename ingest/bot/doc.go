// Package bot tells machines from people by what a request says of itself.
//
// Agent strings are judged by rules in three steps: what a bot says outright (words such as "bot", an address to read about it), what is
// not a browser (no engine, a library's name, prose), and what a browser would not say (a product behind a desktop browser's own that
// no browser has, remarks within the engine's parentheses). So an unknown bot is found too, as long as it does not copy a browser's
// string letter by letter.
//
// A bot is never dropped: its hit is kept and set apart, and Kind says why.
//
// The rules are pure, take some microseconds, and are meant to be called once per distinct agent string. Start reading at Agent.
package bot
