// Starts the load generator and reads its result.

import { mkdtempSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { runChild } from "./child-process.ts";
import type { SeededShop } from "./seed-shops.ts";

export interface LoadAnswer {
	perSecond: number;
	/** Median time from the first byte of the request until the whole answer has arrived. */
	p50Ms: number;
	p99Ms: number;
	/** Number of answers for each status, or for each name that the generator gives them. */
	statuses: Readonly<Record<string, number>>;
}

/** A shop, and the additional fields that it sends with each report. */
export type LoadShop = SeededShop & { fields?: Readonly<Record<string, string>> };

/** Number of connections at a busy moment. The address block of one caller may have up to 256. */
export const CONNECTIONS = 64;
/** Value of each order in a call of the pixel. It differs from that of the shop's server. */
export const PIXEL_VALUE = "99.00";
let runs = 0;

interface SaleLoad {
	connections?: number;
	/** Number of sales a second, or 0 to report as fast as they are answered. */
	perSecond?: number;
	/** Prefix of the order ids. By default each run has its own. */
	prefix?: string;
}

export function writeShops(folder: string, shops: readonly LoadShop[]): string {
	const file = join(mkdtempSync(join(folder, "shops-")), "shops.json");
	writeFileSync(file, JSON.stringify(shops), { mode: 0o600 });
	return file;
}

/** Returns the fields of the sale with this number. It is reported by the shop with the same number. */
export function saleFields(prefix: string, number: number): { orderId: string; basketValue: string } {
	return { orderId: `${prefix}${number}`, basketValue: "129.90" };
}

/** Reports sales, and fails unless every report is accepted as a new sale. */
export async function reportSales(
	url: string,
	shopsFile: string,
	requests: number,
	{ connections = CONNECTIONS, perSecond = 0, prefix = `RUN-${++runs}-` }: SaleLoad = {},
): Promise<LoadAnswer> {
	const args = [url, shopsFile, ...[requests, connections, prefix, perSecond].map(String)];
	const answer = await runChild<LoadAnswer>("load-generator.ts", args);
	if (answer.statuses["201"] !== requests) {
		throw new Error(`${requests} reports were answered ${JSON.stringify(answer.statuses)}`);
	}
	return answer;
}
