// Signed intake before and during a flood of pixel calls from one client: what a shop's server notices of it, and how
// many rows the flood leaves behind.

import { setTimeout as timePasses } from "node:timers/promises";
import type { ShopAccount } from "../command/shop-account.ts";
import { forkProcess } from "../support/forked-process.ts";
import { FLOOD_LANGUAGE } from "./flood-language.ts";
import { startIntake } from "./intake.ts";
import { judgeLatency, type Latency } from "./report.ts";
import { openSite, type Site } from "./site.ts";

export interface FloodOptions {
	/** For each of the two measurements. */
	seconds: number;
	seed: number;
	usesPostgres: boolean;
	/** Whose calls they are: an address that the trusted proxy names, or null for whoever connects. */
	forwardedFor: string | null;
}

export interface FloodReport {
	before: Latency & { calls: number };
	during: Latency & { calls: number };
	/** Pixel calls that were answered while it lasted, and for how long that was. */
	floodCalls: number;
	floodSeconds: number;
	parked: number;
	/** Rows of the inbound log that the flood left. */
	logged: number;
}

const SECOND_MS = 1_000;
const CONNECTIONS = 128;
/** Few enough that they wait for the service and not for each other. */
const SENDERS = 2;

export async function runFlood({
	seconds,
	seed,
	usesPostgres,
	forwardedFor,
}: FloodOptions): Promise<FloodReport> {
	await using cleaning = new AsyncDisposableStack();
	const site = await openSite(usesPostgres ? "PostgreSQL" : "SQLite", cleaning, {
		shops: 1,
		hanging: 0,
		settings: { RINGBACK_TRUSTED_PROXIES: "127.0.0.1" },
	});
	const [shop] = site.accounts;
	if (shop === undefined) throw new RangeError("no shop");
	// What is compiled and cached on the first calls would count as the time before.
	await measure(site, seed, seconds / 2);
	const before = await measure(site, seed + 1, seconds);
	const args = [site.serviceUrl, shop.programmeId, String(CONNECTIONS), forwardedFor ?? ""];
	const script = new URL("./flood-process.ts", import.meta.url);
	const startedMs = performance.now();
	const flood = await forkProcess(script, args, FLOOD_LANGUAGE);
	cleaning.defer(() => flood.close());
	const during = await measure(site, seed + 2, seconds);
	const floodCalls = await flood.ask("report");
	const floodSeconds = (performance.now() - startedMs) / SECOND_MS;
	await flood.close();
	await stop(site);
	const left = await countLeft(site, shop);
	return { before, during, floodCalls, floodSeconds, ...left };
}

async function measure(site: Site, seed: number, seconds: number): Promise<Latency & { calls: number }> {
	const intake = startIntake(site.serviceUrl, site.accounts, seed, SENDERS, `${seed}-`);
	await Promise.race([intake.done, timePasses(seconds * SECOND_MS)]);
	await intake.stop();
	return { ...judgeLatency(intake.latenciesMs), calls: intake.latenciesMs.length };
}

async function stop({ service }: Site): Promise<void> {
	service.kill("SIGTERM");
	const { code, stderr } = await service.ended();
	if (code !== 0) throw new Error(`the service ended with ${code}: ${stderr}`);
}

function countLeft(site: Site, { programmeRow }: ShopAccount): Promise<{ parked: number; logged: number }> {
	return site.withWorkplace(async ({ store: { db } }) => {
		const count = async (table: "conversions" | "inbound_calls", column: "source" | "kind") => {
			const { rows } = await db
				.selectFrom(table)
				.select((eb) => eb.fn.countAll<number | string>().as("rows"))
				.where("programme_id", "=", programmeRow)
				.where(column, "=", "pixel")
				.executeTakeFirstOrThrow();
			return Number(rows);
		};
		return { parked: await count("conversions", "source"), logged: await count("inbound_calls", "kind") };
	});
}

export function describeFlood({ before, during, ...flood }: FloodReport): string {
	const words = ({ p50Ms, p99Ms }: Latency) => `p50 ${p50Ms.toFixed(1)} ms, p99 ${p99Ms.toFixed(1)} ms`;
	const rate = Math.round(flood.floodCalls / flood.floodSeconds);
	return `signed calls ${words(before)}; during a flood of ${CONNECTIONS} connections (${flood.floodCalls} pixel calls answered, ${rate}/s; ${flood.parked} parked, ${flood.logged} logged) ${words(during)}`;
}
