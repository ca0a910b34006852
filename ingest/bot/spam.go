package bot

import "strings"

// KindSpam is a hit whose referrer is one that nobody comes from: it wants to be read in reports.
const KindSpam = "spam"

// spamWords are parts of host names that only such senders have.
var spamWords = []string{
	"semalt", "buttons-for", "share-button", "social-button", "darodar", "ilovevitaly", "best-seo", "seo-offer", "traffic-monetiz", "trafficmonetiz",
	"free-traffic", "buy-cheap-", "cheap-online", "website-analyz", "rank-checker", "event-tracking", "guardlink", "copyrightclaims", "floating-share",
	"get-free-", "how-to-earn-", "make-money-online", "1-free-", "4webmasters", "7makemoney", "sharebutton", "youporn-forum", "o-o-6-o-o", "o-o-8-o-o",
	"trafficbot", "bottraffic", "traffic2", "blackhatworth", "hulfingtonpost", "googlsucks", "success-seo", "videos-for-your-business",
}

// spamHosts are hosts of the same kind, without what stands before the registered name.
var spamHosts = setOf(`
	anticrawler.org bestwebsitesawards.com burger-imperia.com cenokos.ru cenoval.ru cumgoblin.com
	dailyrank.net depositfiles-porn.ga descargar-musica-gratis.net doska-vsem.ru e-buyeasy.com econom.co edakgfvwql.ru erot.co
	fix-website-errors.com forum69.info gobongo.info googlemare.com hundejo.com hvd-store.com ilikevitaly.com iedit.ilovevitaly.com
	iskalko.ru joinandplay.me kambasoft.com kabbalah-red-bracelets.com lomb.co lombia.co luxup.ru masterseek.com meendo-free-traffic.ga
	minegam.com nevapotolok.ru nudepatch.net openfrost.com
	palvira.com.ua pornhub-forum.ga priceg.com producm.ru ranksonic.info ranksonic.org rednise.com
	robot-forum.ru samara-5.ru savetubevideo.com screentoolkit.com seoexperimenty.ru seopub.net
	sexyali.com sexyteens.hol.es slftsdybbg.ru smailik.org socialseet.ru soundfrost.org superiends.org
	theguardlan.com torture.ml vapmedia.org videofrost.com videohub.online vitaly-popov.ru
	vodkoved.ru webmonetizer.net webmaster-traffic.com white-truffles.com wordpress-crew.net xn--80aagddcgkbcqbad7amllnejg6dya.xn--p1ai yourserverisdown.com
	zastroyka.org zvetki.ru xtrafficplus.com trafficgenius.xyz bottraffic.live ecomp3.ru brateg.xyz
	rankings-analytics.com net-profits.xyz monetizationking.net free-floating-buttons.com compliance-alex.xyz compliance-brian.top
	law-enforcement-bot-ff.xyz law-enforcement-check-three.xyz kinoflux.net sitevaluation.org sitevaluation.com keywords-monitoring-success.com
	keywords-monitoring-your-success.com site-auditor.online qualitymarketzone.com backlinkdiet.com static.seders.website news.grets.store
	trast.mantero.online ofer.bartikus.site info.seders.website bitcoin-ua.top
	`)

// SpamReferrer reports whether a referrer's host, in lower case, is one that only robots name, to be read in reports.
func SpamReferrer(host string) bool {
	for _, word := range spamWords {
		if strings.Contains(host, word) {
			return true
		}
	}
	for name := host; ; {
		if spamHosts[name] {
			return true
		}
		dot := strings.IndexByte(name, '.')
		if dot < 0 {
			return false
		}
		name = name[dot+1:]
	}
}
