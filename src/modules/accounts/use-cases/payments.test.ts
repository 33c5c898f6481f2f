// Tests payments of statements on both databases: by selection, from a bank's file, undone, and refused.

import { deepEqual, equal, match, ok } from "node:assert/strict";
import { before, test } from "node:test";
import type { SignedInPerson } from "#core/people/actor.ts";
import { listAudit } from "#core/store/queries/audit-list.ts";
import { startJob } from "#modules/jobs/use-cases/job.ts";
import { fileOf } from "#modules/jobs/use-cases/jobs.test-support.ts";
import { jobResult } from "#modules/jobs/use-cases/lines.ts";
import { uploadFile } from "#modules/jobs/use-cases/make-job.ts";
import { PAYMENTS } from "#modules/jobs/use-cases/payments.ts";
import { parseSummary } from "#modules/jobs/use-cases/summary.ts";
import { workOffJobs } from "#modules/jobs/use-cases/work.ts";
import { eachDatabase } from "../../../../test/support/databases.ts";
import { findStatement, findUnpayable, type ListedStatement } from "../store/statements.ts";
import { payoutFile, proofFile } from "./files.ts";
import { readPaymentDetails, savePaymentDetails } from "./payment-details.ts";
import { payStatements, undoPayment } from "./payments.ts";
import {
	type Member,
	NOVEMBER_MS,
	openNetwork,
	reload,
	type TestNetwork,
} from "./statements.test-support.ts";

const IBAN = "DE89370400440532013000";
const PAYMENT = { date: "2026-11-02", reference: "SEPA 1" };
/** End of the audit entry about a statement whose partner has no payment details. */
const WITHOUT_DETAILS = ", although there are no payment details";

eachDatabase("payments of statements", (database) => {
	let network: TestNetwork;
	let person: SignedInPerson;
	const members: Member[] = [];
	let payable: ListedStatement[] = [];
	let carried: ListedStatement;
	let next = 0;

	before(async () => {
		network = await openNetwork(database.store);
		await network.setNetwork({ minimum_payouts: "EUR 1.00" });
		const programme = await network.addProgramme();
		for (let n = 0; n < 12; n++) {
			members.push(
				await network.join(programme, await network.addPartner(n === 3 ? "=1+1" : `Partner ${n}`)),
			);
		}
		const [first, second] = members;
		ok(first !== undefined && second !== undefined);
		person = await network.addPartnerPerson(first.partner);
		const details = {
			payee: "@Blog",
			address: "",
			country: "DE",
			vatId: "",
			iban: IBAN,
			bic: "",
			account: "",
		};
		ok((await savePaymentDetails(network.deps, person, first.partner.id, details)).ok);
		const other = { ...details, payee: "Other", iban: "", account: "+49 30 1" };
		ok((await savePaymentDetails(network.deps, network.staff, second.partner.id, other)).ok);
		for (const [n, member] of members.entries()) {
			await network.approve(await network.sell(member, n === 2 ? "0.99" : `${n + 1}0.00`));
		}
		await network.clock.moveTo(NOVEMBER_MS);
		await network.issue(await network.prepare("2026-10"));
		payable = await network.statements({ state: "to_pay" });
		const [only] = await network.statements({ state: "carried" });
		ok(only !== undefined);
		carried = only;
	});

	/** Returns a statement that no other test pays. */
	function take(): ListedStatement {
		const statement = payable.at(-++next);
		ok(statement !== undefined);
		return statement;
	}

	/**
	 * Pays statements. Only two of the partners have payment details, so the person claims that the others were
	 * paid without them.
	 */
	const pay = async (
		ids: readonly string[],
		change: Partial<typeof PAYMENT> = {},
		actor = network.staff,
		paidWithoutDetails = ids,
	) => {
		const payment = { ...PAYMENT, ...change };
		const paid = await payStatements(network.deps, actor, ids, payment, { paidWithoutDetails });
		return paid.ok ? paid.value.length : paid.fault.code;
	};
	const undo = async (id: string, reason = "bounced", actor = network.staff) => {
		const undone = await undoPayment(network.deps, actor, id, reason);
		return undone.ok ? "undone" : undone.fault.code;
	};
	const entriesOf = ({ id }: ListedStatement) =>
		database.store.db
			.selectFrom("entries")
			.select("amount")
			.where("statement_id", "=", id)
			.orderBy("id")
			.execute();
	async function countPaid(): Promise<number> {
		return (await network.statements({ state: "paid" })).length;
	}

	test("the payout file has the account of each statement that can be paid, and no cell runs as a formula", async () => {
		const text = (
			await Array.fromAsync(payoutFile(database.store.reader, network.deps, { month: "2026-10" }))
		).join("");
		const [header, first, second, ...rest] = text.trimEnd().split("\r\n");
		equal(header, "\u{FEFF}number,payee,account,bic,country,amount,currency,reference,partner,partnerId");
		const idOf = (n: number) => members[n]?.partner.public_id;
		equal(first, `2026-0001,'@Blog,${IBAN},,DE,10.00,EUR,Statement 2026-0001,Partner 0,${idOf(0)}`);
		equal(second, `2026-0002,Other,'+49 30 1,,DE,20.00,EUR,Statement 2026-0002,Partner 1,${idOf(1)}`);
		deepEqual(rest, [], "no other partner has an account");
		const { statements, partners, partnerCount } = await findUnpayable(database.store.db, "2026-10", 2);
		deepEqual([statements, partnerCount], [9, 9], "the statement that was carried forward is not paid");
		deepEqual(
			partners.map(({ name }) => name),
			["=1+1", "Partner 10"],
		);
		deepEqual(await findUnpayable(database.store.db, undefined, 2), { statements, partners, partnerCount });
		equal((await findUnpayable(database.store.db, "2026-09", 2)).statements, 0);
		const late = { payee: "Late", address: "", country: "", vatId: "", iban: IBAN, bic: "", account: "" };
		const [latecomer, changed] = [members[4]?.partner, members[1]?.partner];
		ok(latecomer !== undefined && changed !== undefined);
		ok((await savePaymentDetails(network.deps, network.staff, latecomer.id, late)).ok);
		ok((await savePaymentDetails(network.deps, network.staff, changed.id, late)).ok);
		const again = (
			await Array.fromAsync(payoutFile(database.store.reader, network.deps, { month: "2026-10" }))
		).join("");
		match(again, new RegExp(`,Late,${IBAN},.*,${latecomer.public_id}\r\n`), "it had none when it was issued");
		equal((await findUnpayable(database.store.db, "2026-10", 2)).statements, 8);
		const formula = { ...late, payee: "=2+3" };
		ok((await savePaymentDetails(network.deps, network.staff, members[3]?.partner.id ?? 0, formula)).ok);
		const last = (await Array.fromAsync(payoutFile(database.store.reader, network.deps, {}))).join("");
		match(
			last,
			new RegExp(`\r\n2026-0004,'=2\\+3,${IBAN},,,40.00,EUR,Statement 2026-0004,'=1\\+1,${idOf(3)}\r\n`),
		);
		ok(again.includes(`${second}\r\n`), "a statement keeps the account of its day");
	});

	test("the proof has times in the zone of the statement, and decimal commas for spreadsheets that expect them", async () => {
		const [statement] = payable;
		ok(statement !== undefined);
		const text = (await Array.fromAsync(proofFile(database.store.reader, statement, ";"))).join("");
		match(
			text,
			/^\u{FEFF}conversionId;programme;eventType;soldAt \(UTC\);decidedAt \(UTC\);s1;s2;s3;commission;change;adjusted;currency;reason;enteredAt \(UTC\)\r\n/u,
		);
		match(
			text,
			/\r\ncnv_\w+;Shop EUR;SALE;2026-01-15 12:00:00;2026-10-10 00:00:00;newsletter;;top;"10,00";;;EUR;;2026-10-10 00:00:00\r\n$/,
		);
	});

	test("a statement is paid once, and undoing it makes it payable again", async () => {
		const statement = take();
		const { public_id: id, total } = statement;
		equal(await pay([id]), 1);
		equal(await pay([id]), "statement_already_paid");
		deepEqual(await entriesOf(statement), [{ amount: `-${total}` }]);
		equal(await undo(id, " "), "invalid_field");
		equal(await undo(id), "undone");
		equal(await undo(id), "statement_not_paid");
		equal((await findStatement(database.store.db, id))?.paid_on, null);
		equal(await pay([id, id], { reference: "SEPA 2" }), 1, "selected twice, it is paid once");
		deepEqual(await entriesOf(statement), [
			{ amount: `-${total}` },
			{ amount: total },
			{ amount: `-${total}` },
		]);
		deepEqual(await network.brokenRules(), []);
		const { rows } = await listAudit(database.store.db, {}, { limit: 3 });
		deepEqual(
			rows.map(({ action, subject, detail }) => [action, subject, detail]),
			[
				[
					"statement.paid",
					statement.number,
					`${total} EUR on 2026-11-02, reference SEPA 2${WITHOUT_DETAILS}`,
				],
				["payment.undone", statement.number, "paid on 2026-11-02: bounced"],
				[
					"statement.paid",
					statement.number,
					`${total} EUR on 2026-11-02, reference SEPA 1${WITHOUT_DETAILS}`,
				],
			],
		);
	});

	test("a statement of a partner without payment details is paid only if a person says so, for each statement", async () => {
		const [one, two] = [take(), take()];
		const ids = [one.public_id, two.public_id];
		const paidBefore = await countPaid();
		equal(await pay(ids, {}, network.staff, []), "no_payment_details");
		equal(await pay(ids, {}, network.staff, [one.public_id]), "no_payment_details");
		const refused = await payStatements(network.deps, network.staff, ids, PAYMENT);
		match(
			refused.ok ? "" : refused.fault.detail,
			new RegExp(
				`^Statements ${two.number}, ${one.number}: the partner has no payment details\\. Ask .* confirm`,
			),
		);
		equal(await countPaid(), paidBefore);
		const details = { payee: "X", address: "", country: "", vatId: "", iban: IBAN, bic: "", account: "" };
		ok((await savePaymentDetails(network.deps, network.staff, two.partner_id, details)).ok);
		equal(await pay(ids, {}, network.staff, [one.public_id]), 2);
		const { rows } = await listAudit(database.store.db, { action: "statement.paid" }, { limit: 2 });
		deepEqual(
			rows.map(({ subject, detail }) => [subject, detail?.endsWith(WITHOUT_DETAILS)]),
			[
				[one.number, true],
				[two.number, false],
			],
		);
	});

	test("if one of several statements cannot be paid, none is", async () => {
		const good = take().public_id;
		const paidBefore = await countPaid();
		equal(await pay([good, carried.public_id]), "statement_carried_forward");
		equal(await pay([good, "stm_1"]), "unknown_statement");
		equal(await pay([good], { date: "2026-11-03" }), "invalid_date", "tomorrow");
		equal(await pay([good], { date: "2026-10-31" }), "invalid_date", "before the month of the issue");
		equal(await pay([good], { date: "soon" }), "invalid_date");
		equal(await pay([good], { reference: "x".repeat(141) }), "invalid_field");
		equal(await pay([]), "nothing_selected");
		equal(await pay([good], {}, person), "not_allowed");
		equal(await undo(good, "why", person), "not_allowed");
		equal(await undo("stm_1"), "unknown_statement");
		equal(await countPaid(), paidBefore);
	});

	test("two people who pay the same statement at the same moment pay it once", async () => {
		const statement = take();
		const payBy = (store = database.store) =>
			payStatements({ ...network.deps, store }, network.staff, [statement.public_id], PAYMENT, {
				paidWithoutDetails: [statement.public_id],
			});
		const results = await Promise.all([payBy(), payBy(database.rival)]);
		deepEqual(results.map((result) => (result.ok ? "paid" : result.fault.code)).sort(), [
			"paid",
			"statement_already_paid",
		]);
		equal((await entriesOf(statement)).length, 1);
		deepEqual(await network.brokenRules(), []);
	});

	test("a bank's file pays statements by their numbers, and names each line that it cannot pay", async () => {
		const [one, two, done, wrong] = [take(), take(), take(), take()];
		equal(await pay([done.public_id]), 1);
		const lines = [
			"Statement;Paid on;Reference;amount",
			`${one.number};02.11.2026;=SEPA 3;${one.total}`,
			`${two.number};2026-11-01;;`,
			`${done.number};2026-11-02;;`,
			`${carried.number};2026-11-02;;`,
			"2026-9999;2026-11-02;;",
			";2026-11-02;;",
			`${take().number};2026-12-24;;`,
			`${wrong.number};2026-11-02;;0,99`,
		];
		const upload = (actor: SignedInPerson) =>
			uploadFile(network.deps, PAYMENTS, { actor }, fileOf(lines.join("\n"), "bank.csv"));
		const refused = await upload(person);
		equal(refused.ok ? "" : refused.fault.code, "not_allowed");
		const job = await upload(network.staff);
		ok(job.ok, JSON.stringify(job));
		await workOffJobs(network.deps, () => false);
		const previewed = await reload(database.store.db, job.value);
		const { counts, remarks } = parseSummary(previewed.summary);
		deepEqual([counts, remarks], [{ change: 2, already: 0, refused: 6 }, 2]);
		equal((await entriesOf(one)).length, 0, "a preview pays nothing");
		// Another member of staff pays one of the statements between the preview and the start.
		equal(await pay([two.public_id]), 1);
		const unconfirmed = await startJob(network.deps, previewed, network.staff, false);
		equal(unconfirmed.ok ? "" : unconfirmed.fault.code, "needs_confirmation");
		equal((await entriesOf(one)).length, 0, "nothing is paid before a person confirms it");
		ok((await startJob(network.deps, previewed, network.staff, false, true)).ok);
		const { rows: started } = await listAudit(
			database.store.db,
			{ action: "payments.started" },
			{ limit: 1 },
		);
		match(
			started[0]?.detail ?? "",
			/^confirmed: The statements of partners without payment details were paid/,
		);
		await workOffJobs(network.deps, () => false);
		const finished = await reload(database.store.db, job.value);
		deepEqual(parseSummary(finished.summary).totals, [
			{ outcome: "paid", currency: "EUR", statements: 1, amount: one.total },
		]);
		const result = (await Array.fromAsync(jobResult(database.store.db, finished, false))).join("");
		deepEqual(
			result
				.trimEnd()
				.split("\r\n")
				.slice(1)
				.map((line) => line.split(",").slice(1, 3).join(": ").replaceAll('"', "")),
			[
				"paid: The partner has no payment details.",
				`refused: Statement ${two.number} was paid on 2026-11-02 already. If that was wrong`,
				`refused: Statement ${done.number} was paid on 2026-11-02 already. If that was wrong`,
				`refused: Statement ${carried.number} was carried forward`,
				"unknown_statement: There is no statement “2026-9999”. Copy the number from the payout file.",
				"unknown_statement: The number is missing. Copy the number from the payout file.",
				"refused: 2026-12-24 is in the future. Today is 2026-11-02 (UTC).",
				`wrong_amount: The total of statement ${wrong.number} is ${wrong.total} EUR`,
			],
		);
		equal((await findStatement(database.store.db, one.public_id))?.reference, "=SEPA 3");
		deepEqual(await network.brokenRules(), []);
	});

	test("payment details are seen by the partner's people and by staff, and are stored sealed", async () => {
		const [first, second] = members;
		ok(first !== undefined && second !== undefined);
		const read = async (reader: SignedInPerson, { partner }: Member) => {
			const details = await readPaymentDetails(network.deps, reader, partner.id);
			return details.ok ? (details.value?.iban ?? null) : details.fault.code;
		};
		equal(await read(person, first), IBAN);
		equal(await read(network.staff, first), IBAN);
		equal(await read(person, second), "not_allowed");
		const empty = { payee: "X", address: "", country: "", vatId: "", iban: IBAN, bic: "", account: "" };
		const theft = await savePaymentDetails(network.deps, person, second.partner.id, empty);
		equal(theft.ok ? "" : theft.fault.code, "not_allowed");
		const wrong = await savePaymentDetails(network.deps, person, first.partner.id, {
			...empty,
			iban: `${IBAN}1`,
		});
		equal(wrong.ok ? "" : wrong.fault.code, "invalid_iban");
		const same = { ...empty, payee: "@Blog", country: "DE" };
		deepEqual(await savePaymentDetails(network.deps, person, first.partner.id, same), {
			ok: true,
			value: false,
		});
		const { db } = database.store;
		const stored = JSON.stringify([
			await db.selectFrom("payment_details").selectAll().execute(),
			await db.selectFrom("statements").selectAll().execute(),
			await db.selectFrom("audit_entries").selectAll().execute(),
		]);
		ok(!stored.includes(IBAN) && !stored.includes("@Blog"), "nothing reveals the account");
		const { sealed } = await db
			.selectFrom("payment_details")
			.select("sealed")
			.where("partner_id", "=", first.partner.id)
			.executeTakeFirstOrThrow();
		await db
			.updateTable("payment_details")
			.set({ sealed })
			.where("partner_id", "=", second.partner.id)
			.execute();
		equal(
			await read(network.staff, second),
			null,
			"details that are copied to another partner cannot be opened",
		);
	});
});
