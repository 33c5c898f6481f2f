// Tests the preparation and the issue of statements on both databases: what is refused, what happens if two people issue
// a month at the same moment, if a process dies, and if an account changes between the preview and the issue.

import { deepEqual, equal, match, ok } from "node:assert/strict";
import { test } from "node:test";
import { createKeyRing } from "#core/domain/key-ring.ts";
import { createMailDispatcher } from "#core/mail/dispatcher.ts";
import { listAudit } from "#core/store/queries/audit-list.ts";
import { addPartnerPerson } from "#core/store/queries/partner-people.ts";
import { insertPartner } from "#core/store/queries/partners.ts";
import { RETRY_MS } from "#modules/jobs/use-cases/claim.ts";
import { startJob } from "#modules/jobs/use-cases/job.ts";
import { readJudgedLines } from "#modules/jobs/use-cases/lines.ts";
import { prepareStatements } from "#modules/jobs/use-cases/prepare-statements.ts";
import { parseSummary } from "#modules/jobs/use-cases/summary.ts";
import { workOffJobs } from "#modules/jobs/use-cases/work.ts";
import { eachDatabase } from "../../../../test/support/databases.ts";
import { createLog } from "../../../../test/support/log.ts";
import { newId } from "../../../../test/support/rows.ts";
import { addPerson, signInAs } from "../../../../test/support/signed-in.ts";
import { findStatement } from "../store/statements.ts";
import { ENTRIES } from "../store/tables.ts";
import { adjustAccount } from "./adjust.ts";
import { openParties } from "./parties.ts";
import { savePaymentDetails } from "./payment-details.ts";
import { payStatements, undoPayment } from "./payments.ts";
import {
	DECEMBER_MS,
	type Member,
	NOVEMBER_MS,
	OCTOBER_MS,
	openNetwork,
	reload,
	sayStatement,
	type TestNetwork,
} from "./statements.test-support.ts";

eachDatabase("issuing statements", (database) => {
	async function openWith(partners: number): Promise<{ network: TestNetwork; members: Member[] }> {
		const network = await openNetwork(database.store);
		const programme = await network.addProgramme();
		const members: Member[] = [];
		for (let n = 1; n <= partners; n++) {
			members.push(await network.join(programme, await network.addPartner(`Partner ${n}`)));
		}
		return { network, members };
	}

	async function ofMembers(network: TestNetwork, members: readonly Member[]) {
		const ids = members.map(({ partner }) => partner.id);
		return (await network.statements()).filter(({ partner_id }) => ids.includes(partner_id));
	}

	/** Returns the store of a process that dies just before its commit with this number. */
	function dyingAt(last: number): typeof database.store {
		const { store } = database;
		let commits = 0;
		return {
			...store,
			transact: (work, options) =>
				store.transact(async (trx) => {
					const value = await work(trx);
					commits += 1;
					if (commits === last) throw new Error("the process died");
					return value;
				}, options),
		};
	}

	test("a month that is not over in the network's time zone is refused, and so is one that is no month", async () => {
		const { network } = await openWith(1);
		await network.clock.moveTo(Date.UTC(2026, 10, 1) - 1);
		const codeOf = async (month: string) => {
			const job = await prepareStatements(network.deps, network.staff, month);
			return job.ok ? "ok" : job.fault.code;
		};
		equal(await codeOf("2026-10"), "month_not_over");
		equal(await codeOf("October"), "invalid_month");
		await network.setNetwork({ time_zone: "Europe/Berlin" });
		equal(await codeOf("2026-10"), "ok", "in Berlin the month is over");
		await workOffJobs(network.deps, () => false);
	});

	test("only staff prepare, start and discard statements", async () => {
		const { network, members } = await openWith(1);
		const [member] = members;
		ok(member !== undefined);
		await network.approve(await network.sell(member, "1.00"));
		await network.clock.moveTo(NOVEMBER_MS);
		const person = await network.addPartnerPerson(member.partner);
		const prepared = await prepareStatements(network.deps, person, "2026-10");
		equal(prepared.ok ? "" : prepared.fault.code, "not_allowed");
		const job = await network.prepare("2026-10");
		const started = await startJob(network.deps, job, person, false);
		equal(started.ok ? "" : started.fault.code, "not_allowed");
		await network.issue(job);
	});

	test("an entry belongs to the month in which it was written, in the network's time zone", async () => {
		const { network, members } = await openWith(1);
		const [member] = members;
		ok(member !== undefined);
		await network.setNetwork({ time_zone: "Europe/Berlin" });
		await network.clock.moveTo(Date.UTC(2026, 9, 31, 22, 59, 59, 999));
		await network.approve(await network.sell(member, "1.00"));
		await network.clock.moveTo(Date.UTC(2026, 9, 31, 23));
		await network.approve(await network.sell(member, "2.00"));
		await network.issue(await network.prepare("2026-10"));
		const statements = await ofMembers(network, members);
		deepEqual(
			statements.map(({ total }) => total),
			["1.00"],
		);
		await network.clock.moveTo(DECEMBER_MS);
		await network.issue(await network.prepare("2026-11"));
		deepEqual(
			(await ofMembers(network, members)).map(({ total }) => total),
			["1.00", "2.00"],
		);
	});

	test("an account that changed after the preview is refused, and the next preview has it", async () => {
		const { network, members } = await openWith(2);
		for (const member of members) await network.approve(await network.sell(member, "10.00"));
		// Staff change the time zone, so that an entry of the preview's first hours belongs to another month.
		await network.clock.moveTo(Date.UTC(2026, 10, 1, 0, 30));
		const [first, second] = members;
		ok(first !== undefined && second !== undefined);
		await network.approve(await network.sell(first, "5.00"));
		const job = await network.prepare("2026-10");
		await network.setNetwork({ time_zone: "Atlantic/Azores" });
		await network.clock.moveTo(NOVEMBER_MS);
		const done = await network.issue(job);
		deepEqual(parseSummary(done.summary).counts, { change: 1, already: 0, refused: 1 });
		deepEqual(await network.linesOf(done), [
			"Partner 1 EUR 0.00 10.00 0.00 0.00 10.00 pay: refused (The account changed after the preview. Prepare the month again.)",
			`Partner 2 EUR 0.00 10.00 0.00 0.00 10.00 pay: change (${(await ofMembers(network, [second]))[0]?.number})`,
		]);
		const again = await network.prepare("2026-10");
		deepEqual(await network.linesOf(again), ["Partner 1 EUR 0.00 15.00 0.00 0.00 15.00 pay: change"]);
		await network.issue(again);
		deepEqual(
			(await ofMembers(network, members)).map(({ total }) => total),
			["10.00", "15.00"],
		);
		deepEqual(await network.brokenRules(), []);
	});

	test("a changed minimum payout refuses the lines whose outcome it changes", async () => {
		const { network, members } = await openWith(1);
		const [member] = members;
		ok(member !== undefined);
		await network.approve(await network.sell(member, "10.00"));
		await network.clock.moveTo(NOVEMBER_MS);
		const job = await network.prepare("2026-10");
		await network.setNetwork({ minimum_payouts: "EUR 10.01" });
		match((await network.linesOf(await network.issue(job)))[0] ?? "", /refused \(The account changed/);
		await network.issue(await network.prepare("2026-10"));
		deepEqual(
			(await ofMembers(network, members)).map(({ is_carried }) => is_carried),
			[1],
		);
		// With the lower minimum, the carried total is paid without any new entry.
		await network.clock.moveTo(DECEMBER_MS);
		const nothing = await network.prepare("2026-11");
		deepEqual([nothing.state, nothing.row_count], ["done", 0], "no statement is due");
		await network.setNetwork({ minimum_payouts: "EUR 10.00" });
		await network.issue(await network.prepare("2026-11"));
		deepEqual(
			(await ofMembers(network, members)).map((statement) => sayStatement(statement).replace(/^\S+ /, "")),
			[
				"Partner 1 2026-10: 0.00 + 10.00 + 0.00 + 0.00 = 10.00 EUR, carried",
				"Partner 1 2026-11: 10.00 + 0.00 + 0.00 + 0.00 = 10.00 EUR, to pay",
			],
		);
		deepEqual(await network.brokenRules(), []);
	});

	test("a second preparation of the same month is refused while the first is in work", async () => {
		const { network, members } = await openWith(1);
		const [member] = members;
		ok(member !== undefined);
		await network.approve(await network.sell(member, "1.00"));
		await network.clock.moveTo(NOVEMBER_MS);
		ok((await prepareStatements(network.deps, network.staff, "2026-10")).ok);
		const second = await prepareStatements(network.deps, network.staff, "2026-10");
		equal(second.ok ? "" : second.fault.code, "statements_being_prepared");
		await workOffJobs(network.deps, () => false);
		// An earlier preview that nobody applied does no harm.
		await network.issue(await network.prepare("2026-10"));
	});

	/** Adds partners with a bonus in October. One hundred of them are one step of the preparation. */
	async function addBonuses(partners: number): Promise<void> {
		const { store } = database;
		await store.transact(async (trx) => {
			for (let n = 0; n < partners; n++) {
				const columns = { public_id: newId("ptn"), name: `Bonus ${n}`, site: "", created_at_ms: OCTOBER_MS };
				const { id } = await insertPartner(trx, columns);
				const entry = { partner_id: id, kind: "ADJUSTED", amount: "1.00", currency: "EUR" } as const;
				const about = { programme_id: null, conversion_id: null, person_id: null, reason: "bonus" };
				await store.batch.write(trx, {
					ofModules: [ENTRIES.add([{ ...entry, ...about, at_ms: OCTOBER_MS }])],
				});
			}
		});
	}

	test("if two people prepare a month at once, two processes work on one job, and one dies, each statement is in the preview once", async () => {
		const { network } = await openWith(0);
		await addBonuses(203);
		await network.clock.moveTo(NOVEMBER_MS);
		const rival = { ...network.deps, store: database.rival };
		const [one, two] = await Promise.all([
			prepareStatements(network.deps, network.staff, "2026-10"),
			prepareStatements(rival, network.staff, "2026-10"),
		]);
		const [job, refused] = one.ok ? [one, two] : [two, one];
		ok(job.ok && !refused.ok);
		equal(refused.fault.code, "statements_being_prepared");
		// The second step is written and then lost, as if the process had died before its commit.
		await workOffJobs({ ...network.deps, store: dyingAt(2) }, () => false).catch(() => undefined);
		const half = await reload(database.store.db, job.value);
		deepEqual([half.state, half.done_rows > 0, half.done_rows < half.row_count], ["preparing", true, true]);
		equal((await startJob(network.deps, half, network.staff, false)).ok, false, "there is no preview yet");
		await network.clock.moveBy(RETRY_MS.unexpected);
		await Promise.all([workOffJobs(rival, () => false), workOffJobs(network.deps, () => false)]);
		const previewed = await reload(database.store.db, job.value);
		equal(previewed.state, "previewed");
		const rows = await readJudgedLines(database.store.db, previewed, 1, 1_000);
		deepEqual(
			rows.map(({ line }) => line),
			Array.from({ length: previewed.row_count }, (_, index) => index + 1),
		);
		equal(new Set(rows.map(({ cells }) => cells["partnerId"])).size, rows.length);
		equal(rows.filter(({ cells }) => cells["partner"]?.startsWith("Bonus")).length, 203);
		deepEqual(parseSummary(previewed.summary).counts, { change: rows.length, already: 0, refused: 0 });
		await network.issue(previewed);
		deepEqual(await network.brokenRules(), []);
	});

	test("two people who issue the same month at the same moment make one set of statements", async () => {
		const { network, members } = await openWith(35);
		for (const member of members) await network.approve(await network.sell(member, "1.00"));
		await network.clock.moveTo(NOVEMBER_MS);
		const jobs = [await network.prepare("2026-10"), await network.prepare("2026-10")];
		const rival = { ...network.deps, store: database.rival };
		const other = await signInAs(database.store, await addPerson(database.store, "staff"));
		const [one, two] = jobs;
		ok(one !== undefined && two !== undefined);
		ok((await startJob(network.deps, one, network.staff, false)).ok);
		ok((await startJob(rival, two, other, false)).ok);
		await Promise.all([workOffJobs(network.deps, () => false), workOffJobs(rival, () => false)]);
		const counts = await Promise.all(
			jobs.map(async (job) => parseSummary((await reload(database.store.db, job)).summary).counts),
		);
		equal(
			counts.reduce((sum, { change }) => sum + change, 0),
			members.length,
		);
		equal(
			counts.reduce((sum, { already }) => sum + already, 0),
			members.length,
		);
		const statements = await ofMembers(network, members);
		deepEqual(
			statements.map(({ partner_id }) => partner_id).sort((a, b) => a - b),
			members.map(({ partner }) => partner.id),
		);
		deepEqual(await network.brokenRules(), []);
	});

	test("a process that dies between two batches leaves no gap, and another one continues", async () => {
		const { network } = await openWith(0);
		await addBonuses(120);
		await network.clock.moveTo(NOVEMBER_MS);
		const job = await network.prepare("2026-10");
		const issued = async () => (await network.statements()).filter(({ job_id }) => job_id === job.id);
		ok((await startJob(network.deps, job, network.staff, false)).ok);
		const { store } = database;
		// The second batch is written and then lost, as if the process had died before its commit.
		await workOffJobs({ ...network.deps, store: dyingAt(2) }, () => false).catch(() => undefined);
		equal((await issued()).length, job.batch_rows, "one batch was stored");
		deepEqual(await network.brokenRules(), []);
		await network.clock.moveBy(RETRY_MS.unexpected);
		await workOffJobs({ ...network.deps, store: database.rival }, () => false);
		equal((await reload(store.db, job)).state, "done");
		const statements = await issued();
		equal(statements.length, 120);
		const first = statements[0]?.seq ?? 0;
		deepEqual(
			statements.map(({ seq }) => seq - first),
			[...statements.keys()],
			"the numbers have no gaps",
		);
		deepEqual(await network.brokenRules(), []);
	});

	test("numbers start again with the year of the issue", async () => {
		const { network, members } = await openWith(1);
		const [member] = members;
		ok(member !== undefined);
		await network.approve(await network.sell(member, "1.00"));
		await network.clock.moveTo(Date.UTC(2031, 0, 1));
		await network.issue(await network.prepare("2030-12"));
		deepEqual(
			(await ofMembers(network, members)).map(({ number }) => number),
			["2031-0001"],
		);
	});

	test("a statement keeps both parties as they were on the day of its issue, and the partner's people who can sign in are mailed", async () => {
		const { network, members } = await openWith(1);
		const [member] = members;
		ok(member !== undefined);
		const { partner } = member;
		const person = await network.addPartnerPerson(partner);
		const { store, clock, random, keyRing } = network.deps;
		// An imported person who was not invited has no password and must not get mails about money.
		const uninvited = await addPerson(store, "shop");
		await addPartnerPerson(store.db, partner.id, uninvited.id);
		const mailer = { send: async () => null };
		const mails = createMailDispatcher({ store, clock, random, keyRing, mailer, log: createLog() });
		const deps = { ...network.deps, mails };
		await network.setNetwork({ name: "Nordnet", postal_address: "Weg 1\nBerlin" });
		const details = { payee: "Blog GmbH", address: "", country: "DE", vatId: "", bic: "", account: "" };
		const saved = await savePaymentDetails(deps, person, partner.id, {
			...details,
			iban: "DE89370400440532013000",
		});
		ok(saved.ok, JSON.stringify(saved));
		await network.approve(await network.sell(member, "10.00"));
		await network.clock.moveTo(NOVEMBER_MS);
		const job = await network.prepare("2026-10");
		ok((await startJob(deps, job, network.staff, false)).ok);
		await workOffJobs(deps, () => false);
		await mails.settled();
		await network.setNetwork({ name: "Other", postal_address: null });
		const other = { ...details, account: "paypal@blog.example", iban: "" };
		ok((await savePaymentDetails(deps, network.staff, partner.id, other)).ok);
		const [listed] = await ofMembers(network, members);
		const statement = await findStatement(store.db, listed?.public_id ?? "");
		ok(statement !== undefined);
		const payment = { date: "2026-11-02", reference: "" };
		ok((await payStatements(deps, network.staff, [statement.public_id], payment)).ok);
		ok((await undoPayment(deps, network.staff, statement.public_id, "bounced")).ok);
		await mails.settled();
		deepEqual(openParties(network.deps, statement), {
			network: { name: "Nordnet", address: "Weg 1\nBerlin" },
			partner: {
				name: "Partner 1",
				site: "",
				vatPercent: null,
				vatNote: "",
				details: { ...details, iban: "DE89370400440532013000" },
			},
		});
		equal(
			openParties({ keyRing: createKeyRing([new Uint8Array(32)]) }, statement),
			null,
			"another key opens nothing",
		);
		const mailed = await store.db
			.selectFrom("mail_queue")
			.select(["to_address", "subject"])
			.where("to_address", "in", [person.email, uninvited.email])
			.orderBy("id")
			.execute();
		deepEqual(
			mailed.map(({ to_address, subject }) => `${to_address}: ${subject}`),
			[
				`${person.email}: Your payment details were changed`,
				`${person.email}: Statement ${statement.number}: 10.00 EUR`,
				`${person.email}: Your payment details were changed`,
				`${person.email}: Statement ${statement.number} was paid`,
				`${person.email}: Payment of statement ${statement.number} was undone`,
			],
		);
		const { rows } = await listAudit(store.db, {}, { limit: 10 });
		const audited = rows.map(({ action, subject, detail }) => [action, subject, detail].join(" | "));
		deepEqual(audited.filter((line) => !line.startsWith("statements.")).slice(0, 5), [
			`payment.undone | ${statement.number} | paid on 2026-11-02: bounced`,
			`statement.paid | ${statement.number} | 10.00 EUR on 2026-11-02`,
			`payment_details.changed | ${partner.public_id} | IBAN …3000 → another account …le`,
			`statement.issued | ${statement.number} | Partner 1: 10.00 EUR`,
			`payment_details.changed | ${partner.public_id} | none → IBAN …3000`,
		]);
		await mails.stop();
	});

	test("an adjustment needs staff, a reason and an amount other than 0 in the decimals of its currency", async () => {
		const { network, members } = await openWith(1);
		const [member] = members;
		ok(member !== undefined);
		const { partner } = member;
		const person = await network.addPartnerPerson(partner);
		const good = { currency: "eur", amount: "−1,50", reason: "agreed" };
		const codeOf = async (change: Partial<typeof good>, actor = network.staff, id = partner.id) => {
			const adjusted = await adjustAccount(network.deps, actor, id, { ...good, ...change });
			return adjusted.ok ? adjusted.value.amount : adjusted.fault.code;
		};
		equal(await codeOf({ amount: "0.00" }), "zero_amount");
		equal(await codeOf({ amount: "1.001" }), "amount_too_precise");
		equal(await codeOf({ amount: "--1" }), "negative_amount");
		equal(await codeOf({ amount: "1e3" }), "malformed_amount");
		equal(await codeOf({ currency: "XXX" }), "unknown_currency");
		equal(await codeOf({ reason: " " }), "invalid_field");
		equal(await codeOf({}, person), "not_allowed");
		equal(await codeOf({}, network.staff, 999_999), "unknown_partner");
		equal(await codeOf({ currency: "KWD", amount: "1,250" }), "malformed_amount");
		equal(await codeOf({}), "-1.50");
		equal(await codeOf({}), "already_adjusted", "sent twice");
		const entries = await database.store.db
			.selectFrom("entries")
			.select(["kind", "amount", "currency", "reason", "person_id", "at_ms"])
			.where("partner_id", "=", partner.id)
			.execute();
		deepEqual(entries, [
			{
				...{ kind: "ADJUSTED", amount: "-1.50", currency: "EUR", reason: "agreed" },
				...{ person_id: network.staff.personId, at_ms: OCTOBER_MS },
			},
		]);
	});
});
