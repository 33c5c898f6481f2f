// Simulates actions about money. Shops refund parts of sales, and staff credit sales to other partners, adjust
// accounts, prepare and issue the statements of two months, mark them as paid and undo that. The real use cases run in
// the processes, sometimes the same one in two processes at once. After every answer the rows must be as the answers
// say.

import type { DatabaseSync } from "node:sqlite";
import { REASONS } from "#core/domain/conversion.ts";
import { DAY_MS, HOUR_MS, MINUTE_MS, SECOND_MS } from "#core/domain/time.ts";
import { COMMAND_LINE, type SignedInPerson } from "#core/people/actor.ts";
import { insertPartner } from "#core/store/queries/partners.ts";
import { insertPerson } from "#core/store/queries/people.ts";
import { insertSession } from "#core/store/queries/sessions.ts";
import type { Store } from "#core/store/store.ts";
import { findBalances } from "#modules/accounts/store/entries.ts";
import { ENTRIES } from "#modules/accounts/store/tables.ts";
import { adjustAccount } from "#modules/accounts/use-cases/adjust.ts";
import { payStatements, undoPayment } from "#modules/accounts/use-cases/payments.ts";
import { findJob } from "#modules/jobs/store/jobs.ts";
import { startJob } from "#modules/jobs/use-cases/job.ts";
import { prepareStatements } from "#modules/jobs/use-cases/prepare-statements.ts";
import { assignAsShown } from "../support/assign-partner.ts";
import { demand } from "../support/broken.ts";
import { amountsOf, coinsOf, type LifeState, type MoneyAct, writeCoins } from "../support/lifecycle-model.ts";
import type { SeededRandom } from "../support/seeded-random.ts";
import type { Crediting } from "./crediting.ts";
import type { MoneyAuditor } from "./money-auditor.ts";
import type { MoneyPlan } from "./money-plan.ts";
import type { Order, OrderLedger } from "./order-ledger.ts";
import { explainPayments, type PaymentAct } from "./payment-model.ts";
import type { ProgrammeRecord } from "./programme-record.ts";
import type { ServiceProcess } from "./service-process.ts";
import { answerOrNothing, callShop } from "./workload.ts";

export interface AccountingSite {
	random: SeededRandom;
	plan: MoneyPlan;
	/** Number of virtual days on which faults happen. Quiet days follow, in which everything must end. */
	days: number;
	programmes: readonly ProgrammeRecord[];
	ledger: OrderLedger;
	crediting: Crediting;
	database: DatabaseSync;
	store: Store;
	auditor: MoneyAuditor;
	nowMs(): number;
	at(atMs: number, run: () => void): void;
	pickProcess(): ServiceProcess | undefined;
	/** Kills a process after a few more steps, if the run has kills. */
	maybeKill(): void;
	/** Runs a check. If it throws, the run fails. */
	attempt(check: () => void): void;
	trace(line: string): void;
	supervise(work: Promise<void>): void;
}

const BALANCE = "a partner's balance follows from the answers";
/**
 * Interval at which staff look at a job. It is shorter than a leap of the virtual time, so no time is skipped between
 * two looks.
 */
const LOOK_MS = 12 * SECOND_MS;
/**
 * Number of times that staff look at a job. The claim of a killed process on a job lasts 30 seconds, and the chore
 * runs every ten.
 */
const LOOKS = 10;
const TWICE_SHARE = 0.3;
/** Number of actions at random times, and of actions around each issue of statements. */
const ACTS_ALONE = 10;
const ACTS_AROUND = 4;
/** Number of payments and undone payments after each issue of statements. */
const PAYMENTS_AFTER = 3;
const ROUNDS_WITH_FAULTS = 3;
/** Share of changes that are made to a conversion that an account already contains. */
const APPROVED_SHARE = 0.8;
/** Share of payments that are made for statements that were not carried forward. */
const PAYABLE_SHARE = 0.8;
/** Number of partners without sales. Because of them the statements of the first month are more than one batch. */
const QUIET_PARTNERS = 12;
const MAX_ADJUSTED_COINS = 2_000_000;
/**
 * Answers of `prepareStatements` that change nothing. For a process whose clock is behind, a month may not be over
 * yet.
 */
const NOT_PREPARED = ["month_not_over", "statements_being_prepared"];

interface Adjustment {
	partnerId: number;
	currency: string;
	coins: bigint;
}

export function createAccounting(site: AccountingSite) {
	const { random, database, crediting, ledger } = site;
	const conversionOf = database.prepare(
		"select public_id as id from conversions where programme_id = ? and order_id = ? and event_type = ?",
	);
	const previewed = database.prepare(
		"select public_id as id from jobs where state = 'previewed' and list_query = ? order by id",
	);
	const countAdjusted = database.prepare("select count(*) as n from entries where reason = ?");
	const issued = database.prepare("select id, public_id, is_carried, total from statements order by id");
	const paidIds = database.prepare("select statement_id from payments order by statement_id");
	const adjustments: Adjustment[] = [];
	const counts = { refunds: 0, assignments: 0, adjustments: 0, payments: 0 };
	const partnerIds = [...crediting.partnerIds];
	let staffId = 0;
	let nextName = 1;
	/** Ids of the statements that are paid according to the answers. */
	let paid: ReadonlySet<number> = new Set();

	const name = (kind: string): string => `${kind} ${nextName++}`;
	const drawProcesses = (): ServiceProcess[] =>
		Array.from({ length: random.chance(TWICE_SHARE) ? 2 : 1 }, () => site.pickProcess()).filter(
			(process) => process !== undefined,
		);

	function act(): void {
		const change = random.pick([changeConversion, changeConversion, changeConversion, adjust, pay, pay]);
		site.supervise(change());
	}

	// Conversions: refunds, and other partners.

	async function changeConversion(): Promise<void> {
		const order = pickOrder();
		const row = order && conversionOf.get(order.programme.id, order.orderId, order.eventType);
		if (order === undefined || row === undefined) return;
		const change = drawChange(order);
		const asked = drawProcesses().map((process) => ({ process, act: change, nowMs: process.clock.nowMs() }));
		const actor = await signIn();
		ledger.ask(order, asked);
		const answered = await Promise.all(
			asked.map(async ({ process, ...one }) => {
				const answer = await answerOrNothing(() =>
					change.kind === "refund"
						? callShop(process, order, change)
						: assign(process, actor, String(row["id"]), change),
				);
				site.trace(`${change.kind} ${order.orderId} ${JSON.stringify(change)} ${answer}`);
				if (answer === "REFUNDED") counts.refunds++;
				if (answer === "ASSIGNED") counts.assignments++;
				return { ...one, answer };
			}),
		);
		ledger.note(order, answered);
	}

	function pickOrder(): Order | undefined {
		const orders = ledger.orders.filter(({ states }) => states.some(({ status }) => status !== "NONE"));
		const approved = orders.filter(({ states }) => states.some(isInAccount));
		if (approved.length > 0 && random.chance(APPROVED_SHARE)) return random.pick(approved);
		return orders.length === 0 ? undefined : random.pick(orders);
	}

	function drawChange({ programme, states }: Order): MoneyAct {
		if (random.chance(0.4)) return { kind: "assign", ...crediting.drawAssignment(programme) };
		const [state] = states;
		const { currencyDigits } = programme.terms;
		const value = coinsOf(state?.basketValue || "0");
		const part = BigInt(random.between(1, Math.max(1, Number(value))));
		const coins = random.pick([part, part, part, value, value + 1n]);
		const amount = writeCoins(coins === 0n ? 1n : coins, currencyDigits);
		const reason = random.pick(REASONS);
		const known = state?.refunds.at(-1);
		if (known === undefined || random.chance(0.6))
			return { kind: "refund", refundId: name("refund"), amount, reason };
		const { refundId } = known;
		return { kind: "refund", refundId, amount: random.chance(0.7) ? known.amount : amount, reason };
	}

	async function assign(
		process: ServiceProcess,
		actor: SignedInPerson,
		conversionId: string,
		{ partner }: Extract<MoneyAct, { kind: "assign" }>,
	): Promise<string> {
		const result = await assignAsShown(process, actor, conversionId, { partner, reason: "asked by both" });
		return result.ok ? "ASSIGNED" : result.fault.code;
	}

	/** Signs a member of staff in. A session lasts at most 30 days, so each action gets its own. */
	async function signIn(): Promise<SignedInPerson> {
		const id = name("session");
		const nowMs = site.nowMs();
		await site.store.transact((trx) =>
			insertSession(trx, {
				id,
				tokenHash: id,
				personId: staffId,
				createdAtMs: nowMs,
				lastUsedAtMs: nowMs,
				expiresAtMs: nowMs + DAY_MS,
				address: "",
				userAgent: "",
			}),
		);
		return { kind: "staff", personId: staffId, sessionId: id };
	}

	// Accounts: adjustments, and payments of statements.

	async function adjust(): Promise<void> {
		const process = site.pickProcess();
		if (process === undefined) return;
		const { currency, currencyDigits } = random.pick(site.programmes).terms;
		const partnerId = random.pick(partnerIds);
		const coins = BigInt(random.between(1, MAX_ADJUSTED_COINS));
		const sign = random.chance(0.5) ? -1n : 1n;
		const reason = name("adjustment");
		const amount = `${sign < 0n ? "-" : ""}${writeCoins(coins, currencyDigits)}`;
		const result = await answerOrNothing(() =>
			adjustAccount(process.statementsDeps, COMMAND_LINE, partnerId, { currency, amount, reason }),
		);
		site.trace(`adjust ${partnerId} ${amount} ${currency}: ${JSON.stringify(result)}`);
		const stored = Number(countAdjusted.get(reason)?.["n"]);
		const isRight = result === null ? stored <= 1 : result.ok && stored === 1;
		demand(isRight, BALANCE, () => `${reason} is stored ${stored} times after ${JSON.stringify(result)}`);
		if (stored === 0) return;
		counts.adjustments++;
		adjustments.push({ partnerId, currency, coins: sign * coins });
	}

	/** Marks statements as paid or undoes a payment, sometimes in two processes at once. */
	async function pay(): Promise<void> {
		const statements = issued.all().map((row) => ({
			id: Number(row["id"]),
			publicId: String(row["public_id"]),
			isCarried: row["is_carried"] === 1,
		}));
		if (statements.length === 0) return;
		const payable = statements.filter(({ isCarried }) => !isCarried);
		const candidates = payable.length > 0 && random.chance(PAYABLE_SHARE) ? payable : statements;
		const chosen = new Set(Array.from({ length: random.between(1, 2) }, () => random.pick(candidates)));
		const [first] = chosen;
		const asked = drawProcesses().map((process) => {
			const kind = random.chance(0.7) ? ("pay" as const) : ("undo" as const);
			return { process, kind, statements: kind === "pay" || first === undefined ? [...chosen] : [first] };
		});
		const before = paid;
		const answered = await Promise.all(
			asked.map(async ({ process, ...one }) => {
				const answer = await answerOrNothing(() => carryOutPayment(process, one));
				const numbers = one.statements.map(({ id }) => id).join(", ");
				site.trace(`${one.kind} ${numbers}: ${answer}`);
				if (answer === "done" && one.kind === "pay") counts.payments++;
				return { ...one, answer };
			}),
		);
		const stored = new Set(paidIds.all().map((row) => Number(row["statement_id"])));
		const possible = explainPayments(before, answered);
		demand(
			possible.some((ids) => ids.symmetricDifference(stored).size === 0),
			BALANCE,
			() => `${[...before]} were paid, now ${[...stored]} after ${JSON.stringify(answered)}`,
		);
		paid = stored;
	}

	async function carryOutPayment(
		process: ServiceProcess,
		{ kind, statements }: Pick<PaymentAct, "kind"> & { statements: readonly { publicId: string }[] },
	): Promise<string> {
		const deps = process.statementsDeps;
		const ids = statements.map(({ publicId }) => publicId);
		const today = Temporal.Instant.fromEpochMilliseconds(site.nowMs())
			.toZonedDateTimeISO(site.plan.timeZone)
			.toPlainDate()
			.toString();
		// Some partners have no payment details, and their statements are paid all the same.
		const claims = { paidWithoutDetails: ids };
		const payment = { date: today, reference: name("reference") };
		const result =
			kind === "pay"
				? await payStatements(deps, COMMAND_LINE, ids, payment, claims)
				: await undoPayment(deps, COMMAND_LINE, ids[0] ?? "", "returned by the bank");
		return result.ok ? "done" : result.fault.code;
	}

	// Statements: jobs that are prepared, previewed and started.

	/** Prepares the statements of a month, and starts the job once its preview is there. */
	function issueAt(month: string, startsMs: number): void {
		site.at(startsMs, () => {
			site.maybeKill();
			for (const process of drawProcesses()) site.supervise(prepare(process, month));
		});
		for (let look = 1; look <= LOOKS; look++) {
			site.at(startsMs + look * LOOK_MS, () => {
				site.attempt(site.auditor.audit);
				site.supervise(start(month));
			});
		}
		for (let n = 0; n < ACTS_AROUND; n++) site.at(startsMs + random.between(0, LOOKS * LOOK_MS), act);
		for (let n = 0; n < PAYMENTS_AFTER; n++) {
			site.at(startsMs + LOOKS * LOOK_MS + random.between(0, MINUTE_MS), () => site.supervise(pay()));
		}
	}

	async function prepare(process: ServiceProcess, month: string): Promise<void> {
		const job = await answerOrNothing(() => prepareStatements(process.statementsDeps, COMMAND_LINE, month));
		const answer = job === null || job.ok ? (job?.value.public_id ?? null) : job.fault.code;
		site.trace(`prepare ${month}: ${answer}`);
		demand(
			job === null || job.ok || NOT_PREPARED.includes(job.fault.code),
			"nothing unexpected happens",
			() => `statements of ${month} were refused: ${answer}`,
		);
	}

	async function start(month: string): Promise<void> {
		const ids = previewed.all(queryOf(month)).map((row) => String(row["id"]));
		if (ids.length === 0) return;
		const id = random.pick(ids);
		site.maybeKill();
		await Promise.all(
			drawProcesses().map(async (process) => {
				const deps = process.statementsDeps;
				const started = await answerOrNothing(async () => {
					const job = await findJob(deps.store.db, null, id);
					return job === undefined ? null : startJob(deps, job, COMMAND_LINE, false);
				});
				site.trace(`start ${id}: ${JSON.stringify(started)}`);
			}),
		);
	}

	/** Returns the sum of each account that follows from the answers, by partner and currency. */
	function expectedBalances(): Map<string, bigint> {
		const balances = new Map<string, bigint>();
		const add = (partnerId: number | undefined, currency: string, coins: bigint) => {
			const key = `${partnerId} ${currency}`;
			if (partnerId !== undefined) balances.set(key, (balances.get(key) ?? 0n) + coins);
		};
		for (const { states, programme } of ledger.orders) {
			const state = states.find(isInAccount);
			if (state === undefined || state.brought === null) continue;
			const { commission } = amountsOf(state, programme.terms);
			add(crediting.partnerOf(state.brought.credit), programme.terms.currency, coinsOf(commission));
		}
		for (const { partnerId, currency, coins } of adjustments) add(partnerId, currency, coins);
		const statements = database.prepare("select id, partner_id, currency, total from statements").all();
		for (const { id, partner_id, currency, total } of statements) {
			if (paid.has(Number(id))) add(Number(partner_id), String(currency), -coinsOf(String(total)));
		}
		return balances;
	}

	/** Adds partners without sales, each with an entry from before the run. */
	async function addQuietPartners(): Promise<void> {
		const { db, batch } = site.store;
		const { currency, currencyDigits } = random.pick(site.programmes).terms;
		const about = { programme_id: null, conversion_id: null, kind: "ADJUSTED", person_id: null } as const;
		for (let n = 0; n < QUIET_PARTNERS; n++) {
			const columns = { public_id: `quiet ${n}`, name: `quiet ${n}`, site: "", created_at_ms: 0 };
			const { id: partnerId } = await insertPartner(db, columns);
			const coins = BigInt(random.between(1, MAX_ADJUSTED_COINS));
			const amount = writeCoins(coins, currencyDigits);
			const account = { partner_id: partnerId, currency, amount, reason: "before", at_ms: site.plan.startMs };
			await batch.write(db, { ofModules: [ENTRIES.add([{ ...about, ...account }])] });
			partnerIds.push(partnerId);
			adjustments.push({ partnerId, currency, coins });
		}
	}

	async function begin(): Promise<void> {
		const { plan, days } = site;
		const [first, second] = plan.months;
		const columns = { public_id: "staff", email: "staff@network.example", created_at_ms: plan.startMs };
		staffId = (await insertPerson(site.store.db, { ...columns, kind: "staff" }))?.id ?? 0;
		const minimums = [...plan.minimums].map(([currency, amount]) => `${currency} ${amount}`).join(";");
		const settings = { time_zone: plan.timeZone, minimum_payouts: minimums };
		await site.store.db.updateTable("network").set(settings).execute();
		await addQuietPartners();
		const faultsEndMs = plan.startMs + days * DAY_MS;
		const drawTime = (fromMs: number) => fromMs + random.between(0, Math.max(1, faultsEndMs - fromMs));
		for (let n = 0; n < ACTS_ALONE; n++) site.at(drawTime(plan.startMs), act);
		if (first === undefined || second === undefined) return;
		issueAt(first.month, first.endMs + random.between(0, 2 * MINUTE_MS));
		for (let n = 1; n < ROUNDS_WITH_FAULTS; n++) issueAt(first.month, drawTime(first.endMs));
		issueAt(first.month, faultsEndMs + HOUR_MS);
		issueAt(second.month, second.endMs + HOUR_MS);
	}

	return {
		begin,
		counts,
		/** Compares the accounts in the database, and the balances that pages show, with the answers. */
		async auditBalances(): Promise<void> {
			site.auditor.audit();
			const expected = expectedBalances();
			const rows = database.prepare("select partner_id, currency, amount from entries").all();
			const stored = new Map<string, bigint>();
			for (const { partner_id, currency, amount } of rows) {
				const key = `${partner_id} ${currency}`;
				stored.set(key, (stored.get(key) ?? 0n) + coinsOf(String(amount)));
			}
			const shown = new Map<string, bigint>();
			for (const partnerId of partnerIds) {
				for (const { currency, open, due, carried } of await findBalances(site.store.db, partnerId)) {
					shown.set(`${partnerId} ${currency}`, coinsOf(open) + coinsOf(due) + coinsOf(carried));
				}
			}
			for (const key of new Set([...expected.keys(), ...stored.keys(), ...shown.keys()])) {
				const [owed = 0n, entered = 0n, seen = 0n] = [expected, stored, shown].map((sums) => sums.get(key));
				demand(
					owed === entered && owed === seen,
					BALANCE,
					() => `account ${key} must be ${owed}, its entries add up to ${entered} and pages show ${seen}`,
				);
			}
		},
		/** Throws unless the statements of the last month have been issued. Without them nobody would be paid. */
		demandIssued(): void {
			const last = site.plan.months.at(-1);
			if (last === undefined) return;
			const jobs = database
				.prepare("select * from jobs where list_query = ? and state in ('preparing', 'applying')")
				.all(queryOf(last.month));
			demand(jobs.length === 0, "everything due ends", () => JSON.stringify(jobs));
			const open = database.prepare("select * from open_entries where at_ms < ?").all(last.endMs);
			demand(open.length === 0, "everything due ends", () => `no statement has ${JSON.stringify(open)}`);
		},
	};
}

/** Returns whether the account of a partner contains the commission of the conversion. */
function isInAccount({ status, test, brought }: LifeState): boolean {
	return status === "APPROVED" && !test && brought !== null && brought.credit.partnershipId !== null;
}

function queryOf(month: string): string {
	return `?month=${month}`;
}
