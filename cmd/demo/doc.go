// Package demo makes up traffic: visitors from many countries who read a few pages or click a short link, by day more than by night, and
// some bots among them. The same seed and times give the same traffic. It only makes requests and log lines; command demo sends them
// through the same doors as real ones.
package demo
