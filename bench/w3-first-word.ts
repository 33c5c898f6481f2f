// W3 reports one sale at a time in an idle service. It measures the time from the answer to the report until
// the callback has reached the shop, compared with a bare POST, from signing until it has reached the shop. A
// negative time counts as zero, because the callback may arrive before the answer was read.

import { readFileSync } from "node:fs";
import { setTimeout as sleep } from "node:timers/promises";
import { Client } from "undici";
import { createRandom } from "../src/outside/random.ts";
import { type Database, withStore } from "./database.ts";
import { percentile } from "./figures.ts";
import { type Receiver, startReceiver } from "./receiver-process.ts";
import { nowMs, reportSale, sealed } from "./sale.ts";
import { type SeededShop, seedShops } from "./seed-shops.ts";
import type { Tools } from "./tools.ts";
import { defineWorkload, type Figure } from "./workload.ts";

/**
 * Pause between two sales. It is shorter than the time that connections stay open, and long enough that
 * nothing is in flight.
 */
const PAUSE_MS = 20;
const REACH = { p50: 3, p99: 5 } as const;
const random = createRandom();

export const w3FirstWord = defineWorkload<{ sales: number }>({
	name: "W3",
	title: "first word",
	measures:
		"idle: from the answer to a sale until its callback reaches the shop, p50 and p99 ÷ a bare POST's",
	scales: { full: { sales: 1_000 }, short: { sales: 100 }, smoke: { sales: 10 } },
	async run({ sales }, tools) {
		const receiver = await startReceiver(tools.folder, "watch");
		try {
			const bare = await measureBare(receiver, sales);
			const figures = [...figuresOf("bare POST", bare)];
			for (const kind of ["SQLite", "PostgreSQL"] as const) {
				figures.push(...figuresOf(kind, await measureOn(kind, sales, receiver, tools), bare));
			}
			return figures;
		} finally {
			await receiver.stop();
		}
	},
});

async function measureBare(receiver: Receiver, count: number): Promise<number[]> {
	const { origin, pathname } = new URL(receiver.url(0));
	const client = new Client(origin, {
		connect: { ca: readFileSync(receiver.caFile, "utf8") },
		allowH2: false,
	});
	const shop = { secret: random.hex(16), apiKey: "" };
	const sent = new Map<string, number>();
	await receiver.forget();
	for (let i = 0; i < count; i++) {
		const conversion = `cnv_${i}`;
		const startedAtMs = nowMs();
		const body = JSON.stringify({ conversionId: conversion, filler: "x".repeat(350) });
		const answer = await client.request({
			path: pathname,
			method: "POST",
			headers: sealed(shop, pathname, body),
			body,
		});
		await answer.body.dump();
		sent.set(conversion, startedAtMs);
		await sleep(PAUSE_MS);
	}
	await client.close();
	return waits(receiver, sent);
}

function measureOn(kind: Database, count: number, receiver: Receiver, tools: Tools): Promise<number[]> {
	return tools.withDatabase(kind, async (databaseUrl) => {
		const [shop] = await withStore(databaseUrl, (store) => seedShops(store, 1, receiver.url));
		if (shop === undefined) throw new Error("there is no shop");
		const service = await tools.startService({ databaseUrl, caFile: receiver.caFile, role: "all" });
		const client = new Client(service.url);
		try {
			// The warm-up compiles the code and opens connections before the measurement.
			await reportSales(client, shop, "warm-", Math.ceil(count / 5));
			await receiver.until(Math.ceil(count / 5));
			await receiver.forget();
			const answered = await reportSales(client, shop, "order-", count);
			await receiver.until(count);
			return waits(receiver, answered);
		} finally {
			await client.close();
			await service.stop();
			await receiver.forget();
		}
	});
}

/** Reports sales. Returns for each conversion the time at which its answer was read. */
async function reportSales(
	client: Client,
	shop: SeededShop,
	prefix: string,
	count: number,
): Promise<Map<string, number>> {
	const answered = new Map<string, number>();
	for (let i = 0; i < count; i++) {
		const { conversion, answeredAtMs } = await reportSale(client, shop, `${prefix}${i}`);
		answered.set(conversion, answeredAtMs);
		await sleep(PAUSE_MS);
	}
	return answered;
}

async function waits(receiver: Receiver, startedAtMs: ReadonlyMap<string, number>): Promise<number[]> {
	const { arrivals } = await receiver.report();
	return arrivals.flatMap(({ conversion, atMs }) => {
		const from = startedAtMs.get(conversion);
		return from === undefined ? [] : [Math.max(0, atMs - from)];
	});
}

function figuresOf(
	what: string,
	waitsMs: readonly number[],
	bareMs: readonly number[] | null = null,
): Figure[] {
	return (
		[
			["p50", 0.5],
			["p99", 0.99],
		] as const
	).flatMap(([name, share]): Figure[] => {
		const value = percentile(waitsMs, share);
		const figure: Figure = { what: `${what}: ${name}`, value, unit: "ms", goal: null };
		if (bareMs === null) return [figure];
		const ratio = value / percentile(bareMs, share);
		return [
			figure,
			{ what: `${what}: ${name} ÷ bare POST's`, value: ratio, unit: "", goal: { atMost: REACH[name] } },
		];
	});
}
