// Tests rule 2 of contract section 1. The URL must point to a public address when it is saved and at every
// attempt. The test's name server changes the address of a name between the two. test/addresses covers URLs
// that are refused when they are saved.

import { deepEqual, equal } from "node:assert/strict";
import { after, test } from "node:test";
import { DAY_MS } from "#core/domain/time.ts";
import { setUrl } from "../support/change-rows.ts";
import { eachService } from "../support/running-service.ts";
import { startNameServer } from "../support/zone-server.ts";

const names = await startNameServer();
after(() => names.close());

// Time that the tests add to the real clock. Answers of the name server are cached for a second of real time,
// and adding a second makes them expire. The value is never reset, because the tests of both databases run
// side by side in this process.
let passedMs = 0;
const now = performance.now.bind(performance);
performance.now = () => now() + passedMs;
function forgetNames(): void {
	passedMs += 1_001;
}

eachService(
	"section 1 rule 2, a public address",
	(running) => {
		test("contract 1 rule 2, 7 private address: nothing is sent to a name whose address became private after it was saved, and the delivery fails at once", async () => {
			const name = `${running.service.random.hex(4)}.shop.example`;
			names.records.set(name, ["127.0.0.1"]);
			const programme = await running.openProgramme({ url: running.shop.url("/postback", name) });
			await programme.record("A-1");
			await programme.settled();
			equal(programme.received.length, 1);
			names.records.set(name, ["10.0.0.1"]);
			forgetNames();
			await programme.approve("A-1");
			await programme.settled();
			await running.clock.moveBy(2 * DAY_MS);
			await programme.settled();
			equal(programme.received.length, 1);
			const [, approved] = await programme.deliveries();
			deepEqual([approved?.state, approved?.last_verdict], ["failed", "forbidden address"]);
			const [, attempt, ...others] = await programme.attempts();
			deepEqual([attempt?.result, attempt?.http_status, others.length], ["forbidden-address", null, 0]);
			equal((await programme.notices())[0]?.last_verdict, "forbidden address");
		});

		test("contract 1 rule 2: the address is checked at each attempt, so a retry to a private address is refused too", async () => {
			const name = `${running.service.random.hex(4)}.shop.example`;
			names.records.set(name, ["127.0.0.1"]);
			const programme = await running.openProgramme({ url: running.shop.url("/postback", name) });
			programme.answer = () => ({ status: 503 });
			await programme.record("A-1");
			await programme.settled();
			names.records.set(name, ["127.0.0.1", "169.254.169.254"]);
			forgetNames();
			await programme.retryNow();
			equal(programme.received.length, 1);
			const [delivery] = await programme.deliveries();
			deepEqual([delivery?.state, delivery?.attempts], ["failed", 2]);
		});
	},
	{ RINGBACK_DNS_SERVERS: names.address },
);

eachService(
	"section 1 rule 2, in production",
	(running) => {
		test("contract 1 rule 2: a literal IP address that was allowed when it was saved is refused at delivery", async () => {
			const programme = await running.openProgramme({ url: null });
			const { service, clock, shop } = running;
			await setUrl(service.store.db, programme.id, shop.url(), clock.nowMs());
			await programme.record("A-1");
			await programme.settled();
			equal(shop.connectionCount, 0);
			const [delivery] = await programme.deliveries();
			deepEqual([delivery?.state, delivery?.last_verdict], ["failed", "forbidden address"]);
		});
	},
	{ RINGBACK_ALLOWED_PRIVATE_RANGES: "" },
);
