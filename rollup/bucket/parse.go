package bucket

import (
	"encoding/base64"
	"fmt"
	"time"
)

// ParseJSON reads the value of the record of a cell into c, reusing its rows. Text and sketches are copies. Errors wrap ErrNotCell;
// after one the content of c is undefined.
func (c *Cell) ParseJSON(data []byte) error {
	*c = Cell{Rows: c.Rows[:0]}
	s := scanner{data: data}
	hasRows := false
	err := s.object(func(name []byte) (err error) {
		switch string(name) {
		case "site":
			c.Site, err = s.string()
		case "site_id":
			c.SiteID, err = s.uint32()
		case "generation":
			c.Generation, err = s.uint32()
		case "window":
			c.Window, err = s.string()
		case "start":
			c.Start, c.Offset, err = s.start()
		case "partition":
			c.Partition, err = s.int32()
		case "report":
			c.Report, err = s.string()
		case "link":
			c.Link, err = s.string()
		case "shard":
			var shard int32
			shard, err = s.int32()
			c.Shard = int(shard)
		case "folded_to":
			c.FoldedTo, err = s.number()
		case "source_to":
			c.SourceTo, err = s.number()
		case "rows":
			hasRows = true
			err = c.parseRows(&s)
		default:
			err = s.skip(0)
		}
		return err
	})
	if err == nil {
		err = s.end()
	}
	if err == nil && (!hasRows || c.SiteID == 0 || c.Report == "" || c.Window == "") {
		err = fmt.Errorf("%w: site_id, window, report or rows is missing", ErrNotCell)
	}
	return err
}

func (c *Cell) parseRows(s *scanner) error {
	c.Rows = c.Rows[:0]
	return s.object(func(name []byte) error {
		if len(c.Rows) == MaxRows {
			return fmt.Errorf("%w: more than %d rows", ErrNotCell, MaxRows)
		}
		c.Rows = append(c.Rows, Row{Key: string(name)})
		return c.Rows[len(c.Rows)-1].parse(s)
	})
}

func (r *Row) parse(s *scanner) error {
	err := s.object(func(name []byte) (err error) {
		switch string(name) {
		case "hits":
			r.Hits, err = s.number()
		case "bots":
			r.Bots, err = s.number()
		case "visitors":
			r.Visitors, err = s.number()
		case "pageviews":
			r.Pageviews, err = s.number()
		case "events":
			r.Events, err = s.number()
		case "clicks":
			r.Clicks, err = s.number()
		case "visits":
			r.Visits, err = s.signed()
		case "bounces":
			r.Bounces, err = s.signed()
		case "duration_ms":
			r.DurationMs, err = s.signed()
		case "engaged_ms":
			r.EngagedMs, err = s.signed()
		case "scroll_sum":
			r.ScrollSum, err = s.signed()
		case "scroll_views":
			r.ScrollViews, err = s.signed()
		case "sketch":
			r.Sketch, err = s.base64()
		default: // also humans, which is the difference
			err = s.skip(0)
		}
		return err
	})
	if err == nil && r.Bots > r.Hits {
		err = fmt.Errorf("%w: %d of %d hits are bots", ErrNotCell, r.Bots, r.Hits)
	}
	return err
}

// ParseJSON reads the value of a progress record. Errors wrap ErrNotCell.
func (p *Progress) ParseJSON(data []byte) error {
	*p = Progress{}
	s := scanner{data: data}
	fields := 0
	err := s.object(func(name []byte) (err error) {
		switch string(name) {
		case "window":
			p.Window, err = s.string()
		case "partition":
			p.Partition, err = s.int32()
		case "folded_to":
			fields++
			p.FoldedTo, err = s.number()
		case "source_to":
			fields++
			p.SourceTo, err = s.number()
		case "received":
			p.ReceivedMs, err = s.instant()
		default:
			err = s.skip(0)
		}
		return err
	})
	if err == nil {
		err = s.end()
	}
	if err == nil && (fields != 2 || p.Window == "") {
		err = fmt.Errorf("%w: window, folded_to or source_to is missing", ErrNotCell)
	}
	return err
}

// ParseJSON reads the value of a record about a generation. Errors wrap ErrNotCell.
func (g *Generation) ParseJSON(data []byte) error {
	*g = Generation{}
	s := scanner{data: data}
	err := s.object(func(name []byte) (err error) {
		switch string(name) {
		case "window":
			g.Window, err = s.string()
		case "site_id":
			g.SiteID, err = s.uint32()
		case "generation":
			g.Generation, err = s.uint32()
		case "partition":
			g.Partition, err = s.int32()
		case "folded_to":
			g.FoldedTo, err = s.number()
		default:
			err = s.skip(0)
		}
		return err
	})
	if err == nil {
		err = s.end()
	}
	if err == nil && (g.SiteID == 0 || g.Generation == 0 || g.Window == "") {
		err = fmt.Errorf("%w: window, site_id or generation is missing", ErrNotCell)
	}
	return err
}

// signed reads a whole number that may be negative.
func (s *scanner) signed() (int64, error) {
	negative := s.take('-')
	n, err := s.number()
	if negative {
		n = -n
	}
	return n, err
}

func (s *scanner) string() (string, error) {
	text, err := s.text()
	return string(text), err
}

func (s *scanner) uint32() (uint32, error) {
	n, err := s.number()
	if err == nil && n > 1<<32-1 {
		err = s.fail("a smaller number")
	}
	return uint32(n), err
}

func (s *scanner) int32() (int32, error) {
	n, err := s.number()
	if err == nil && n > 1<<31-1 {
		err = s.fail("a smaller number")
	}
	return int32(n), err
}

func (s *scanner) start() (unix int64, offset int, err error) {
	text, err := s.text()
	if err != nil {
		return 0, 0, err
	}
	t, err := time.Parse(startLayout, string(text))
	if err != nil {
		return 0, 0, s.fail("a time like 2025-10-26T02:00:00+02:00")
	}
	_, offset = t.Zone()
	return t.Unix(), offset, nil
}

func (s *scanner) instant() (int64, error) {
	text, err := s.text()
	if err != nil {
		return 0, err
	}
	t, err := time.Parse(time.RFC3339, string(text))
	if err != nil {
		return 0, s.fail("a time like 2025-10-26T00:00:00.000Z")
	}
	return t.UnixMilli(), nil
}

func (s *scanner) base64() ([]byte, error) {
	text, err := s.text()
	if err != nil {
		return nil, err
	}
	sketch, err := base64.StdEncoding.AppendDecode(nil, text)
	if err != nil {
		return nil, s.fail("base64")
	}
	return sketch, nil
}
