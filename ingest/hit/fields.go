package hit

import "google.golang.org/protobuf/encoding/protowire"

// Field numbers of hit.proto.
const (
	fVersion        protowire.Number = 1
	fSource         protowire.Number = 2
	fSequence       protowire.Number = 3
	fClientID       protowire.Number = 4
	fSiteID         protowire.Number = 5
	fSite           protowire.Number = 6
	fTimeMs         protowire.Number = 7
	fReceivedMs     protowire.Number = 8
	fKind           protowire.Number = 9
	fName           protowire.Number = 10
	fVisitor        protowire.Number = 11
	fVisitorNext    protowire.Number = 12
	fHost           protowire.Number = 13
	fPath           protowire.Number = 14
	fQuery          protowire.Number = 15
	fFragment       protowire.Number = 16
	fTitle          protowire.Number = 17
	fReferrer       protowire.Number = 18
	fRefHost        protowire.Number = 19
	fLink           protowire.Number = 20
	fDest           protowire.Number = 21
	fCountry        protowire.Number = 22
	fRegion         protowire.Number = 23
	fCity           protowire.Number = 24
	fAgent          protowire.Number = 25
	fHints          protowire.Number = 26
	fBrowser        protowire.Number = 27
	fBrowserVersion protowire.Number = 28
	fOS             protowire.Number = 29
	fOSVersion      protowire.Number = 30
	fDevice         protowire.Number = 31
	fBot            protowire.Number = 32
	fBotKind        protowire.Number = 33
	fStatus         protowire.Number = 34
	fProps          protowire.Number = 35
	fUTMSource      protowire.Number = 36
	fUTMMedium      protowire.Number = 37
	fUTMCampaign    protowire.Number = 38
	fUTMTerm        protowire.Number = 39
	fUTMContent     protowire.Number = 40
	fCurrency       protowire.Number = 41
	fAmount         protowire.Number = 42
	fScrollPercent  protowire.Number = 43
	fEngagedMs      protowire.Number = 44
	fNonInteractive protowire.Number = 45
	fRegionCode     protowire.Number = 46
	fASN            protowire.Number = 47
	fASName         protowire.Number = 48
	fClickID        protowire.Number = 49
	fLanguage       protowire.Number = 50
	fScreenWidth    protowire.Number = 51
)
