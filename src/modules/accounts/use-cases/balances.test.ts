// Compares the accounts of partners with a model that is computed from the history alone: which sales were approved,
// refunded, returned and given to other partners, what staff adjusted, and what was issued and paid.

import { deepEqual, ok } from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { decimalCount, formatMinor, minorUnits, zeroIn } from "#core/domain/money.ts";
import { DAY_MS } from "#core/domain/time.ts";
import type { Conversion } from "#core/store/queries/conversions.ts";
import { eachDatabase } from "../../../../test/support/databases.ts";
import { monthBefore, monthEndMs, monthIn } from "../domain/statement.ts";
import { findBalances } from "../store/entries.ts";
import { adjustAccount } from "./adjust.ts";
import { payStatements, undoPayment } from "./payments.ts";
import { type Member, openNetwork, type TestNetwork } from "./statements.test-support.ts";

const CURRENCIES = ["EUR", "JPY", "KWD"];
const MINIMUMS = "EUR 5.00;JPY 300;KWD 0.500";
const PARTNERS = 3;

type Act =
	| { kind: "sell"; partner: number; currency: number; minor: bigint }
	| { kind: "approve"; sale: number }
	| { kind: "reverse"; sale: number }
	| { kind: "refund"; sale: number; percent: bigint }
	| { kind: "reassign"; sale: number; partner: number }
	| { kind: "adjust"; partner: number; currency: number; minor: bigint }
	| { kind: "issue" }
	| { kind: "pay" | "undo"; statement: number };

const PARTNER = fc.nat(PARTNERS - 1);
const CURRENCY = fc.nat(CURRENCIES.length - 1);
const ANY = fc.nat(1_000);
const ACT: fc.Arbitrary<Act> = fc.oneof(
	{
		weight: 6,
		arbitrary: fc.record({
			kind: fc.constant("sell" as const),
			partner: PARTNER,
			currency: CURRENCY,
			minor: fc.bigInt({ min: 0n, max: 2_000n }),
		}),
	},
	{ weight: 6, arbitrary: fc.record({ kind: fc.constant("approve" as const), sale: ANY }) },
	{ weight: 2, arbitrary: fc.record({ kind: fc.constant("reverse" as const), sale: ANY }) },
	{
		weight: 2,
		arbitrary: fc.record({
			kind: fc.constant("refund" as const),
			sale: ANY,
			percent: fc.bigInt({ min: 0n, max: 99n }),
		}),
	},
	{
		weight: 2,
		arbitrary: fc.record({ kind: fc.constant("reassign" as const), sale: ANY, partner: PARTNER }),
	},
	{
		weight: 1,
		arbitrary: fc.record({
			kind: fc.constant("adjust" as const),
			partner: PARTNER,
			currency: CURRENCY,
			minor: fc.bigInt({ min: -1_000n, max: 1_000n }),
		}),
	},
	{ weight: 2, arbitrary: fc.record({ kind: fc.constant("issue" as const) }) },
	{ weight: 2, arbitrary: fc.record({ kind: fc.constant("pay" as const), statement: ANY }) },
	{ weight: 1, arbitrary: fc.record({ kind: fc.constant("undo" as const), statement: ANY }) },
);

/** The account of a partner in one currency, in minor units. */
interface Account {
	open: bigint;
	/** True if a statement of the next month would contain an entry. */
	hasEntries: boolean;
	carried: bigint;
	/** Totals of the statements that are to be paid, and whether each was paid. */
	issued: { total: bigint; isPaid: boolean; publicId: string }[];
}

interface Sale {
	member: Member;
	owner: number;
	currency: number;
	minor: bigint;
	conversion: Conversion;
}

class Model {
	readonly accounts = new Map<string, Account>();
	readonly sales: Sale[] = [];
	adjustments = 0;

	account(partner: number, currency: number): Account {
		const key = `${partner} ${currency}`;
		const found = this.accounts.get(key) ?? { open: 0n, hasEntries: false, carried: 0n, issued: [] };
		this.accounts.set(key, found);
		return found;
	}

	add(partner: number, currency: number, minor: bigint): void {
		if (minor === 0n) return;
		const account = this.account(partner, currency);
		account.open += minor;
		account.hasEntries = true;
	}
}

eachDatabase("balances", (database) => {
	test("after any history, the balances and statements of all partners are those of the model", async () => {
		const runs = fc.asyncProperty(fc.array(ACT, { minLength: 10, maxLength: 60 }), async (acts) => {
			const network = await openNetwork(database.store);
			await network.setNetwork({ minimum_payouts: MINIMUMS });
			const programmes = await Promise.all(CURRENCIES.map((currency) => network.addProgramme(currency)));
			const members: Member[][] = [];
			for (let n = 0; n < PARTNERS; n++) {
				const partner = await network.addPartner(`Partner ${n}`);
				const joined: Member[] = [];
				for (const programme of programmes) joined.push(await network.join(programme, partner));
				members.push(joined);
			}
			const model = new Model();
			for (const act of acts) await perform(network, members, model, act);
			await compare(members, model);
			deepEqual(await network.brokenRules(), []);
		});
		await fc.assert(runs, { numRuns: database.kind === "SQLite" ? 20 : 10 });
	});

	async function perform(network: TestNetwork, members: Member[][], model: Model, act: Act): Promise<void> {
		switch (act.kind) {
			case "sell": {
				const member = memberOf(members, act.partner, act.currency);
				const conversion = await network.sell(member, amountOf(act.currency, act.minor));
				const { minor, currency } = act;
				model.sales.push({ member, owner: act.partner, currency, minor, conversion });
				return;
			}
			case "issue":
				return issue(network, members, model);
			case "adjust": {
				if (act.minor === 0n) return;
				const { partner } = memberOf(members, act.partner, act.currency);
				const currency = CURRENCIES[act.currency] ?? "";
				// The reason is different each time, because a second adjustment with the same reason is refused as
				// sent twice.
				const reason = `bonus ${model.adjustments++}`;
				const input = { currency, amount: amountOf(act.currency, act.minor), reason };
				ok((await adjustAccount(network.deps, network.staff, partner.id, input)).ok);
				model.add(act.partner, act.currency, act.minor);
				return;
			}
			case "pay":
			case "undo":
				return settle(network, model, act.kind === "pay", act.statement);
			default: {
				const sale = model.sales[act.sale % Math.max(model.sales.length, 1)];
				if (sale !== undefined) await change(network, members, model, sale, act);
			}
		}
	}

	async function change(
		network: TestNetwork,
		members: Member[][],
		model: Model,
		sale: Sale,
		act: Exclude<Act, { kind: "sell" | "issue" | "adjust" | "pay" | "undo" }>,
	): Promise<void> {
		const { conversion, owner, currency, minor } = sale;
		const isApproved = conversion.status === "APPROVED";
		if (act.kind === "approve") {
			if (conversion.status !== "RECORDED") return;
			sale.conversion = await network.approve(conversion);
			model.add(owner, currency, minor);
		} else if (act.kind === "reverse") {
			if (!isApproved) return;
			sale.conversion = await network.reverse(conversion);
			model.add(owner, currency, -minor);
		} else if (conversion.status === "RECORDED" || isApproved) {
			if (act.kind === "refund") {
				const left = (minor * act.percent) / 100n;
				sale.conversion = await network.refund(conversion, amountOf(currency, left));
				sale.minor = left;
				if (isApproved) model.add(owner, currency, left - minor);
			} else {
				sale.conversion = await network.reassign(conversion, memberOf(members, act.partner, currency));
				sale.owner = act.partner;
				if (!isApproved || act.partner === owner) return;
				model.add(owner, currency, -minor);
				model.add(act.partner, currency, minor);
			}
		}
	}

	/** Moves the clock to the next month, and issues the statements of the month that is over. */
	async function issue(network: TestNetwork, members: Member[][], model: Model): Promise<void> {
		const present = monthIn(network.clock.nowMs(), "UTC");
		await network.clock.moveTo(monthEndMs(present, "UTC") + DAY_MS);
		const month = monthBefore(monthIn(network.clock.nowMs(), "UTC"));
		const hasDue = [...model.accounts.values()].some(({ hasEntries }) => hasEntries);
		if (!hasDue) return;
		await network.issue(await network.prepare(month));
		const issued = await network.statements({ month });
		for (const [key, account] of model.accounts) {
			if (!account.hasEntries) continue;
			const [partner = 0, currency = 0] = key.split(" ").map(Number);
			const total = account.carried + account.open;
			const minimum = new Map(
				MINIMUMS.split(";").map((part) => [part.slice(0, 3), minorUnits(part.slice(4))]),
			);
			const isCarried = total <= 0n || total < (minimum.get(CURRENCIES[currency] ?? "") ?? 0n);
			const { partner: owner } = memberOf(members, partner, currency);
			const statement = issued.find(
				(one) => one.partner_id === owner.id && one.currency === CURRENCIES[currency],
			);
			deepEqual(
				[statement?.opening, statement?.total, statement?.is_carried],
				[amountOf(currency, account.carried), amountOf(currency, total), isCarried ? 1 : 0],
			);
			account.open = 0n;
			account.hasEntries = false;
			account.carried = isCarried ? total : 0n;
			if (!isCarried) account.issued.push({ total, isPaid: false, publicId: statement?.public_id ?? "" });
		}
	}

	async function settle(network: TestNetwork, model: Model, isPaid: boolean, index: number): Promise<void> {
		const issued = [...model.accounts.values()].flatMap((account) => account.issued);
		const statement = issued[index % Math.max(issued.length, 1)];
		if (statement === undefined) return;
		const { deps, staff, clock } = network;
		const date = new Date(clock.nowMs()).toISOString().slice(0, "2026-11-02".length);
		const claims = { paidWithoutDetails: [statement.publicId] };
		const done = isPaid
			? await payStatements(deps, staff, [statement.publicId], { date, reference: "" }, claims)
			: await undoPayment(deps, staff, statement.publicId, "bounced");
		deepEqual(done.ok, statement.isPaid !== isPaid, JSON.stringify(done));
		statement.isPaid = isPaid;
	}

	async function compare(members: Member[][], model: Model): Promise<void> {
		for (const [key, account] of model.accounts) {
			const [partner = 0, currency = 0] = key.split(" ").map(Number);
			const balances = await findBalances(database.store.db, memberOf(members, partner, currency).partner.id);
			const nothing = amountOf(currency, 0n);
			const due = account.issued.filter(({ isPaid }) => !isPaid).reduce((sum, { total }) => sum + total, 0n);
			const expected = {
				currency: CURRENCIES[currency],
				open: amountOf(currency, account.open),
				due: amountOf(currency, due),
				carried: amountOf(currency, account.carried),
			};
			const found = balances.find((balance) => balance.currency === CURRENCIES[currency]);
			deepEqual(found ?? { ...expected, open: nothing, due: nothing, carried: nothing }, expected);
			const { rows } = await sumOfEntries(memberOf(members, partner, currency).partner.id, currency);
			const sum = rows.reduce((one, { amount }) => one + minorUnits(amount), 0n);
			deepEqual(sum, account.open + due + account.carried, "the balance is the sum of all entries");
		}
	}

	async function sumOfEntries(partnerId: number, currency: number) {
		const entries = database.store.db.selectFrom("entries").select("amount");
		const own = entries.where("partner_id", "=", partnerId);
		return { rows: await own.where("currency", "=", CURRENCIES[currency] ?? "").execute() };
	}
});

function memberOf(members: Member[][], partner: number, currency: number): Member {
	const member = members[partner]?.[currency];
	ok(member !== undefined);
	return member;
}

function amountOf(currency: number, minor: bigint): string {
	return formatMinor(minor, decimalCount(zeroIn(CURRENCIES[currency] ?? "")));
}
