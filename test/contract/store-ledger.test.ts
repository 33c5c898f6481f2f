// Tests the ledger, which is the set of rules that stored rows must follow, on both databases. A database in
// its normal state breaks no rule, and each rule finds and names a row that breaks it.

import { deepEqual, equal } from "node:assert/strict";
import { test } from "node:test";
import { sql } from "kysely";
import type { Store } from "#core/store/store.ts";
import { checkLedger } from "../../src/service/check-ledger.ts";
import { START_MS } from "../support/clock.ts";
import { eachDatabase } from "../support/databases.ts";
import { settle, takeOne } from "../support/queue-rows.ts";
import { addOwedConversion, addProgramme, delivered } from "../support/rows.ts";

const ADD_PARTNER =
	"insert into partners (id, public_id, name, site, created_at_ms) values (999999, 'ptn_9', '', '', 0)";
const END_AS_FAILED = `insert into undelivered (id, receiver_id, state, run, ended_at_ms)
	select id, receiver_id, 'failed', run, 1 from queue where id = $d`;

/** Returns a statement that adds the first attempt of the delivery, with this answer. */
function addAttempt(httpStatus: number): string {
	return `insert into attempts (delivery_id, seq, run, result, http_status, started_at_ms)
		values ($d, 1, 1, 'answered', ${httpStatus}, 1)`;
}

/**
 * Statements that break each rule, with the expected problem. `$d` is the id of a pending delivery and of its
 * event, `$c` of its conversion, `$p` of its programme.
 */
const BREAKS: readonly [problem: RegExp, ...statements: string[]][] = [
	[/^rows of the queue have no event/, "delete from events where id = $d"],
	[/^undelivered rows have no event/, END_AS_FAILED, "delete from events where id = $d"],
	// This delivery is in `queue` and in `undelivered` at once.
	[/^deliveries have ended undelivered and are still in the queue/, END_AS_FAILED],
	// The queue counts no attempt although one is stored in the same run, as after a resend that started no new
	// run.
	[/^rows of the queue do not agree with the attempts/, addAttempt(503)],
	[/^rows of the queue do not agree with the attempts/, "update queue set seq = 1 where id = $d"],
	[/^rows of the queue do not agree with the attempts/, "update queue set counted = 1 where id = $d"],
	// The delivery succeeded, but its row is still in the queue.
	[
		/^deliveries have succeeded in their run and are still in the queue/,
		addAttempt(204),
		"update queue set counted = 1, seq = 1 where id = $d",
	],
	[
		/^failed deliveries have no failed attempt/,
		addAttempt(204),
		END_AS_FAILED,
		"delete from queue where id = $d",
	],
	// The delivery finally failed, but has no row in `undelivered`.
	[/^events are neither in the queue nor undelivered/, addAttempt(503), "delete from queue where id = $d"],
	[/^events are neither in the queue nor undelivered/, "delete from queue where id = $d"],
	[/^events belong to no conversion/, "delete from conversions where id = $c"],
	[
		/^events announce a move that their conversion never made/,
		"update events set name = 'conversion.reversed' where id = $d",
	],
	[/^conversions have another status/, "update conversions set status = 'APPROVED' where id = $c"],
	[/^conversions have another status/, "delete from moves where conversion_id = $c"],
	[/^conversions belong to no programme/, "update conversions set programme_id = 999999 where id = $c"],
	[/^moves belong to no conversion/, "delete from conversions where id = $c"],
	[/^moves lead to a status/, "update moves set to_status = 'REVERSED' where conversion_id = $c"],
	[
		/^receivers have a Postback URL that is not on record/,
		"update receivers set endpoint_id = 999999 where programme_id = $p",
	],
	[
		/^receivers have a Postback URL that is not on record/,
		"insert into receivers (kind, partner_id) values ('partner', 999999)",
		"update receivers set endpoint_id = (select endpoint_id from receivers where programme_id = $p) where partner_id = 999999",
	],
	[
		/^receivers belong to no programme and to no partner/,
		"insert into receivers (kind, partner_id) values ('partner', 999999)",
	],
	[/^events belong to no conversion/, "update events set conversion_id = null where id = $d"],
	[
		/^events tell a partner about a sale that was never credited to it/,
		ADD_PARTNER,
		"insert into receivers (kind, partner_id) values ('partner', 999999)",
		"update events set receiver_id = (select id from receivers where partner_id = 999999) where id = $d",
	],
	[
		/^events tell a shop about a sale of another programme/,
		"update conversions set programme_id = 999999 where id = $c",
	],
	[
		/^receivers have a URL for callbacks and no active secret/,
		ADD_PARTNER,
		"insert into receivers (kind, partner_id) values ('partner', 999999)",
		"update receivers set endpoint_id = (select endpoint_id from receivers where programme_id = $p) where partner_id = 999999",
	],
	[
		/^programmes have no receiver/,
		ADD_PARTNER,
		"update receivers set kind = 'partner', programme_id = null, partner_id = 999999 where programme_id = $p",
	],
	[
		/^conversions are charged at another network fee/,
		"update conversions set rates = '8+1.00 7', fee_rate = '2' where id = $c",
	],
	[
		/^conversions are back with their first partner, at another commission/,
		ADD_PARTNER,
		"insert into partnerships (id, public_id, programme_id, partner_id, terms, created_at_ms) values (999999, 'pts_9', $p, 999999, '', 0)",
		"update conversions set rates = '20+1.00 2', first_partnership_id = 999999, first_commission = '8+1.00' where id = $c",
		`insert into credits (conversion_id, programme_id, partnership_id, word, sold_at_ms, sub_1, sub_2, sub_3)
			values ($c, $p, 999999, 'ASSIGNED', 0, '', '', '')`,
	],
	[/^programmes have other rates than the newest/, "delete from programme_rates where programme_id = $p"],
	[
		/^programmes have other rates than the newest/,
		"update programme_rates set fee_rate = '9.0000' where programme_id = $p",
	],
	[
		/^partnerships have another commission than the newest/,
		ADD_PARTNER,
		"insert into partnerships (id, public_id, programme_id, partner_id, terms, created_at_ms) values (999999, 'pts_9', $p, 999999, '', 0)",
		"update partnership_rates set commission_rate = '5.0000' where partnership_id = 999999",
	],
];

eachDatabase("the ledger", (database) => {
	test("all rules hold in a database with pending and delivered callbacks and with conversions without events", async () => {
		const { store } = database;
		const programme = await addProgramme(store);
		await addOwedConversion(store, programme);
		await addOwedConversion(store, programme);
		await settle(store, delivered(await takeOne(store, programme.receiver_id, START_MS)));
		const { rules, broken } = await checkLedger(store);
		deepEqual(broken, []);
		equal(rules, 39);
	});

	for (const [problem, ...statements] of BREAKS) {
		test(`a broken rule is reported after: ${statements.join("; ")}`, async () => {
			const { store } = database;
			await empty(store);
			const programme = await addProgramme(store);
			const { deliveryId: d, conversionId: c } = await addOwedConversion(store, programme);
			deepEqual((await checkLedger(store)).broken, [], "the ledger balances before the change");
			for (const statement of statements) await run(store, statement, { d, c, p: programme.id });
			const { broken } = await checkLedger(store);
			const found = broken.find((rule) => problem.test(rule.problem));
			equal(found?.count, 1, JSON.stringify(broken));
			equal(found?.examples.length, 1);
		});
	}

	test("rows in distant ranges of ids are all checked", async () => {
		const { store } = database;
		await empty(store);
		const programme = await addProgramme(store);
		const { deliveryId: d } = await addOwedConversion(store, programme);
		await addOwedConversion(store, programme);
		await run(store, "delete from events where id = $d", { d, c: 0, p: 0 });
		await run(store, `update queue set id = 1000000 where id = ${d}`, { d, c: 0, p: 0 });
		const { broken } = await checkLedger(store);
		deepEqual(
			broken.map(({ problem, examples }) => [problem, examples]),
			[["rows of the queue have no event", [1_000_000]]],
		);
	});
});

async function run(store: Store, statement: string, ids: { d: number; c: number; p: number }): Promise<void> {
	const text = statement.replace(/\$([dcp])/g, (_, name: "d" | "c" | "p") => String(ids[name]));
	await sql.raw(text).execute(store.db);
}

async function empty(store: Store): Promise<void> {
	const tables = ["queue", "attempts", "undelivered", "events", "moves", "conversions"];
	tables.push("signing_secrets", "endpoints", "receivers", "programmes", "partners");
	tables.push("credits", "partnerships", "programme_rates", "partnership_rates");
	for (const table of tables) await sql`delete from ${sql.table(table)}`.execute(store.db);
}
