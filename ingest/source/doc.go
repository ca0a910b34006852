// Package source says where a visit came from: the source's name and the channel, from the host of the referrer, the campaign, and the click
// ids in the page's query.
//
// It is pure and looks at nothing but its arguments, so that reports can be made anew from old hits when the lists grow. Names of sources
// are one for all spellings: "LinkedIn", "linkedin", "www.linkedin.com" and "lnkd.in" are LinkedIn. What is not in the lists keeps its
// host as its name.
//
// Start reading at Of.
package source
