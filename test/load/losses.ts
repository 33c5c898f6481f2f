// After the run, with the service stopped: is anything missing that somebody was promised?

import type { Db } from "../../src/store/schema/tables.ts";
import type { ShopAccount } from "../support/shop-account.ts";
import type { AnsweredShop } from "./intake.ts";
import type { ShopArrivals } from "./shops-messages.ts";

export interface Losses {
	/** In words, one a loss; empty when nothing is lost. */
	findings: string[];
	conversions: number;
	delivered: number;
	/** Of shops that hang: still to be sent, each with a due time. */
	waiting: number;
	/** Of shops that answer: an attempt failed on a machine this busy, and the next one has its due time. */
	retrying: number;
	/** Why attempts at shops that answer failed, with how many did. */
	troubles: Map<string, number>;
	/** Requests that a shop got for an event it had already got. */
	repeats: number;
}

/** Enough to see the pattern. */
const MAX_FINDINGS = 10;

export async function findLosses(
	db: Db,
	accounts: readonly ShopAccount[],
	answered: readonly AnsweredShop[],
	arrivals: readonly ShopArrivals[],
	hanging: number,
): Promise<Losses> {
	const losses: Losses = {
		findings: [],
		conversions: 0,
		delivered: 0,
		waiting: 0,
		retrying: 0,
		troubles: new Map(),
		repeats: 0,
	};
	const report = (finding: string): void => {
		if (losses.findings.length < MAX_FINDINGS) losses.findings.push(finding);
	};
	for (const [shop, account] of accounts.entries()) {
		const promised = answered[shop];
		const arrived = arrivals[shop];
		if (promised === undefined || arrived === undefined) throw new RangeError(`no shop ${shop}`);
		losses.conversions += await checkConversions(db, account, promised, report);
		const rows = await readDeliveries(db, account);
		if (rows.length !== promised.events.size) {
			report(`shop ${shop} is owed ${promised.events.size} events, and ${rows.length} are stored`);
		}
		const hasArrived = new Set(arrived.keys);
		for (const { public_id, name, state, due_at_ms, counted } of rows) {
			const key = `${public_id} ${name}`;
			if (!promised.events.has(key)) report(`${key} is stored, and nobody was answered so`);
			if (shop < hanging) {
				losses.waiting++;
				if (state !== "pending" || due_at_ms === null)
					report(`${key} hangs, is ${state}, due at ${due_at_ms}`);
			} else if (state === "pending" && due_at_ms !== null && (counted ?? 0) > 0) {
				losses.retrying++;
			} else {
				losses.delivered++;
				if (state !== "delivered") report(`${key} is ${state}, due at ${due_at_ms}`);
				if (!hasArrived.has(key)) report(`${key} is ${state} and never arrived`);
			}
		}
		if (shop >= hanging) await countTroubles(db, account, losses.troubles);
		for (const key of hasArrived)
			if (!promised.events.has(key)) report(`${key} arrived, and was never promised`);
		if (shop >= hanging) losses.repeats += arrived.requests - arrived.keys.length;
	}
	return losses;
}

async function checkConversions(
	db: Db,
	{ programmeRow }: ShopAccount,
	{ conversions }: AnsweredShop,
	report: (finding: string) => void,
): Promise<number> {
	const rows = await db
		.selectFrom("conversions")
		.select(["order_id", "public_id"])
		.where("programme_id", "=", programmeRow)
		.execute();
	const stored = new Map(rows.map(({ order_id, public_id }) => [order_id, public_id]));
	for (const [order, id] of conversions) {
		if (stored.get(order) !== id)
			report(`${order} was answered ${id}, and ${stored.get(order) ?? "nothing"} is stored`);
	}
	if (stored.size !== conversions.size) {
		report(`${stored.size} conversions are stored, and ${conversions.size} were answered`);
	}
	return stored.size;
}

function readDeliveries(db: Db, { programmeRow }: ShopAccount) {
	return db
		.selectFrom("deliveries")
		.innerJoin("events", "events.id", "deliveries.id")
		.innerJoin("conversions", "conversions.id", "events.conversion_id")
		.leftJoin("queue", "queue.id", "deliveries.id")
		.select(["conversions.public_id", "events.name", "deliveries.state", "queue.due_at_ms", "queue.counted"])
		.where("deliveries.programme_id", "=", programmeRow)
		.execute();
}

async function countTroubles(
	db: Db,
	{ programmeRow }: ShopAccount,
	troubles: Map<string, number>,
): Promise<void> {
	const attempts = await db
		.selectFrom("attempts")
		.innerJoin("deliveries", "deliveries.id", "attempts.delivery_id")
		.select(["attempts.result", "attempts.detail", "attempts.http_status"])
		.where("deliveries.programme_id", "=", programmeRow)
		.where((eb) => eb.or([eb("http_status", "is", null), eb("http_status", "!=", 204)]))
		.execute();
	for (const { result, detail, http_status } of attempts) {
		const trouble = detail ?? String(http_status ?? result);
		troubles.set(trouble, (troubles.get(trouble) ?? 0) + 1);
	}
}
