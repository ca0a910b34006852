package dump

const goldenBatches = `
file name=t/0/00000000000000000000.log
batch position=0 first_offset=0 last_offset=1 leader_epoch=3 count=2 codec=none bytes=384 first_time=2026-05-28T20:26:40.000Z last_time=2026-05-28T20:26:40.000Z
batch position=384 first_offset=10 last_offset=10 leader_epoch=3 count=1 codec=none bytes=70 first_time=2026-05-28T20:26:40.000Z last_time=2026-05-28T20:26:40.000Z producer_id=7 producer_epoch=1 first_sequence=4 last_sequence=4 transactional
batch position=454 first_offset=11 last_offset=11 leader_epoch=3 count=1 codec=none bytes=78 first_time=2026-05-28T20:26:40.000Z last_time=2026-05-28T20:26:40.000Z producer_id=7 producer_epoch=1 transactional control marker=commit coordinator_epoch=9
batch position=532 first_offset=12 last_offset=12 leader_epoch=3 count=1 codec=none bytes=78 first_time=2026-05-28T20:26:40.000Z last_time=2026-05-28T20:26:40.000Z producer_id=7 producer_epoch=1 transactional control marker=abort coordinator_epoch=9
`

const goldenBatchesJSON = `
{"kind":"file","name":"t/0/00000000000000000000.log"}
{"kind":"batch","position":0,"first_offset":0,"last_offset":1,"leader_epoch":3,"count":2,"codec":"none","bytes":384,"first_time":"2026-05-28T20:26:40.000Z","last_time":"2026-05-28T20:26:40.000Z"}
{"kind":"batch","position":384,"first_offset":10,"last_offset":10,"leader_epoch":3,"count":1,"codec":"none","bytes":70,"first_time":"2026-05-28T20:26:40.000Z","last_time":"2026-05-28T20:26:40.000Z","producer_id":7,"producer_epoch":1,"first_sequence":4,"last_sequence":4,"transactional":true}
{"kind":"batch","position":454,"first_offset":11,"last_offset":11,"leader_epoch":3,"count":1,"codec":"none","bytes":78,"first_time":"2026-05-28T20:26:40.000Z","last_time":"2026-05-28T20:26:40.000Z","producer_id":7,"producer_epoch":1,"transactional":true,"control":true,"marker":"commit","coordinator_epoch":9}
{"kind":"batch","position":532,"first_offset":12,"last_offset":12,"leader_epoch":3,"count":1,"codec":"none","bytes":78,"first_time":"2026-05-28T20:26:40.000Z","last_time":"2026-05-28T20:26:40.000Z","producer_id":7,"producer_epoch":1,"transactional":true,"control":true,"marker":"abort","coordinator_epoch":9}
`

const goldenRecords = `
file name=t/0/00000000000000000000.log
record offset=9 time=2026-05-28T20:26:40.000Z key=null value_hex=00ff header.h=v
record offset=10 time=2026-05-28T20:26:40.000Z producer_id=7 transactional key=null value=in
record offset=11 time=2026-05-28T20:26:40.000Z producer_id=7 transactional control marker=commit coordinator_epoch=9
record offset=12 time=2026-05-28T20:26:40.000Z producer_id=7 transactional control marker=abort coordinator_epoch=9
`

const goldenRecordsJSON = `
{"kind":"file","name":"t/0/00000000000000000000.log"}
{"kind":"record","offset":9,"time":"2026-05-28T20:26:40.000Z","key":null,"value_hex":"00ff","header.h":"v"}
{"kind":"record","offset":10,"time":"2026-05-28T20:26:40.000Z","producer_id":7,"transactional":true,"key":null,"value":"in"}
{"kind":"record","offset":11,"time":"2026-05-28T20:26:40.000Z","producer_id":7,"transactional":true,"control":true,"marker":"commit","coordinator_epoch":9}
{"kind":"record","offset":12,"time":"2026-05-28T20:26:40.000Z","producer_id":7,"transactional":true,"control":true,"marker":"abort","coordinator_epoch":9}
`
