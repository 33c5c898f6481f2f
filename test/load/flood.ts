// Signed intake before and during a flood of pixel calls from one client: what a shop's server notices of it, and how
// many rows the flood leaves behind.

import { setTimeout as timePasses } from "node:timers/promises";
import { BLOCK_BUDGET, PROGRAMME_BUDGET } from "../../src/api/pixel-limits.ts";
import { SECOND_MS } from "../../src/domain/time.ts";
import type { Budget } from "../../src/domain/token-bucket.ts";
import { forkProcess } from "../support/forked-process.ts";
import type { ShopAccount } from "../support/shop-account.ts";
import { startIntake } from "./intake.ts";
import { PIXEL_FLOOD_MESSAGES } from "./pixel-flood-messages.ts";
import { judgeLatency, type Latency } from "./report.ts";
import { openSetup, type Setup } from "./setup.ts";

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
	/** What whoever floods may have taken of their calls. */
	budget: Budget;
}

const MINUTE_SECONDS = 60;
const CONNECTIONS = 128;
/** Few enough that they wait for the service and not for each other. */
const SENDERS = 2;
/**
 * Signed calls share the machine with the flood and whoever sends it, and may find two pixel calls ahead of them.
 * Without budgets and yielding it was ten to fifty times, on the same two cores.
 */
const MAY_SLOW_DOWN = 4;
const MAY_ADD_MS = 20;

export async function runFlood({
	seconds,
	seed,
	usesPostgres,
	forwardedFor,
}: FloodOptions): Promise<FloodReport> {
	await using cleaning = new AsyncDisposableStack();
	const setup = await openSetup(usesPostgres ? "PostgreSQL" : "SQLite", cleaning, {
		shops: 1,
		hanging: 0,
		settings: { RINGBACK_TRUSTED_PROXIES: "127.0.0.1" },
	});
	const [shop] = setup.accounts;
	if (shop === undefined) throw new RangeError("no shop");
	// What is compiled and cached on the first calls would count as the time before.
	await measure(setup, seed, seconds / 2);
	const before = await measure(setup, seed + 1, seconds);
	const args = [setup.serviceUrl, shop.programmeId, String(CONNECTIONS), forwardedFor ?? ""];
	const script = new URL("./pixel-flood-process.ts", import.meta.url);
	const startedMs = performance.now();
	const flood = await forkProcess(script, args, PIXEL_FLOOD_MESSAGES);
	cleaning.defer(() => flood.close());
	const during = await measure(setup, seed + 2, seconds);
	const floodCalls = await flood.ask("report");
	const floodSeconds = (performance.now() - startedMs) / SECOND_MS;
	await flood.close();
	await stop(setup);
	const left = await countLeft(setup, shop);
	const budget = forwardedFor === null ? PROGRAMME_BUDGET : BLOCK_BUDGET;
	return { before, during, floodCalls, floodSeconds, budget, ...left };
}

async function measure(setup: Setup, seed: number, seconds: number): Promise<Latency & { calls: number }> {
	const intake = startIntake(setup.serviceUrl, setup.accounts, seed, SENDERS, `${seed}-`);
	await Promise.race([intake.done, timePasses(seconds * SECOND_MS)]);
	await intake.stop();
	return { ...judgeLatency(intake.latenciesMs), calls: intake.latenciesMs.length };
}

async function stop({ service }: Setup): Promise<void> {
	service.kill("SIGTERM");
	const { code, stderr } = await service.ended();
	if (code !== 0) throw new Error(`the service ended with ${code}: ${stderr}`);
}

function countLeft(setup: Setup, { programmeRow }: ShopAccount): Promise<{ parked: number; logged: number }> {
	return setup.withWorkplace(async ({ store: { db } }) => {
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

/** What is wrong with it, in words; null when the flood was kept from the database and from the signed requests. */
export function judgeFlood(report: FloodReport): string | null {
	const { before, during, parked, logged, floodSeconds, budget } = report;
	// A second more: what came before the clock was read, and after.
	const mayPark = budget.burst + budget.perSecond * (floodSeconds + 1);
	if (parked > mayPark) return `${parked} conversions are parked, where the budget allows ${mayPark}`;
	const minutes = Math.ceil(floodSeconds / MINUTE_SECONDS) + 1;
	if (logged > parked + minutes) return `${logged} calls are logged for ${parked} that were taken`;
	const mayTakeMs = before.p50Ms * MAY_SLOW_DOWN + MAY_ADD_MS;
	if (during.p50Ms > mayTakeMs) return `signed calls take ${during.p50Ms} ms, where ${mayTakeMs} may be`;
	return null;
}

export function describeFlood({ before, during, ...flood }: FloodReport): string {
	const words = ({ p50Ms, p99Ms }: Latency) => `p50 ${p50Ms.toFixed(1)} ms, p99 ${p99Ms.toFixed(1)} ms`;
	const { floodCalls, floodSeconds, parked, logged } = flood;
	const rate = Math.round(floodCalls / floodSeconds);
	return `signed calls ${words(before)}; during a flood of ${CONNECTIONS} connections (${floodCalls} pixel calls answered, ${rate}/s; ${parked} parked, ${logged} logged) ${words(during)}`;
}
