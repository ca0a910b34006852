package api

// list is everything that is advertised. Keys of KIP-848 (68, 69), telemetry (71, 72), share groups
// (76-79) and of broker to broker traffic are not in it: clients use whatever they are offered.
func (h *Handler) list() []key {
	return []key{
		h.produceKey(),                 // 0
		h.fetchKey(),                   // 1
		h.listOffsetsKey(),             // 2
		h.metadataKey(),                // 3
		h.offsetCommitKey(),            // 8
		h.offsetFetchKey(),             // 9
		h.findCoordinatorKey(),         // 10
		h.joinGroupKey(),               // 11
		h.heartbeatKey(),               // 12
		h.leaveGroupKey(),              // 13
		h.syncGroupKey(),               // 14
		h.describeGroupsKey(),          // 15
		h.listGroupsKey(),              // 16
		h.saslHandshakeKey(),           // 17
		h.apiVersionsKey(),             // 18
		h.createTopicsKey(),            // 19
		h.deleteTopicsKey(),            // 20
		h.deleteRecordsKey(),           // 21
		h.initProducerIDKey(),          // 22
		h.offsetForLeaderEpochKey(),    // 23
		h.addPartitionsToTxnKey(),      // 24
		h.addOffsetsToTxnKey(),         // 25
		h.endTxnKey(),                  // 26
		h.writeTxnMarkersKey(),         // 27
		h.txnOffsetCommitKey(),         // 28
		h.describeACLsKey(),            // 29
		h.createACLsKey(),              // 30
		h.deleteACLsKey(),              // 31
		h.describeConfigsKey(),         // 32
		h.alterConfigsKey(),            // 33
		h.describeLogDirsKey(),         // 35
		h.saslAuthenticateKey(),        // 36
		h.createPartitionsKey(),        // 37
		h.deleteGroupsKey(),            // 42
		h.incrementalAlterConfigsKey(), // 44
		h.offsetDeleteKey(),            // 47
		h.describeQuotasKey(),          // 48
		h.alterQuotasKey(),             // 49
		h.describeCredentialsKey(),     // 50
		h.alterCredentialsKey(),        // 51
		h.describeClusterKey(),         // 60
		h.describeProducersKey(),       // 61
		h.describeTransactionsKey(),    // 65
		h.listTransactionsKey(),        // 66
	}
}
