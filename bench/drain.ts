// Runs one or more real service processes until all due deliveries are sent and every result is committed.

import { setTimeout as sleep } from "node:timers/promises";
import { SLOTS } from "#core/domain/slot.ts";
import { withStore } from "./database.ts";
import { cpuMicros, residentMb } from "./process-cost.ts";
import type { Receiver } from "./receiver-process.ts";
import { type ServiceProcess, sumOf } from "./service-process.ts";
import type { Tools } from "./tools.ts";

export interface DrainOptions {
	databaseUrl: string;
	receiver: Receiver;
	deliveries: number;
	processes?: number;
	/**
	 * Makes the deliveries due when every process has its share of the slots. Without this function, they are
	 * due from the start.
	 */
	release?: () => Promise<void>;
	/** Environment variables for the service, in addition to those of every benchmark. */
	more?: Readonly<Record<string, string>>;
	tools: Pick<Tools, "beginPhase" | "startService" | "say">;
}

export interface DrainAnswer {
	/** Number of requests, equal to the number of deliveries if nothing was sent twice. */
	requests: number;
	/** Rate from the first request at the receiver until the last result is stored. */
	perSecond: number;
	/** Processor time of all service processes per delivery, not counting their start. */
	cpuMicros: number;
	/** Resident size of the largest process at the end. */
	residentMb: number;
	/** Number of attempts that the service repeated because they timed out while the machine was busy. */
	retried: number;
}

const LOOK_MS = 10;

export async function drain(options: DrainOptions): Promise<DrainAnswer> {
	const { databaseUrl, receiver, deliveries, processes = 1, release, more = {}, tools } = options;
	await tools.beginPhase();
	await receiver.forget();
	const settings = { databaseUrl, caFile: receiver.caFile, role: "worker", more } as const;
	const services: ServiceProcess[] = [];
	try {
		for (let i = 0; i < processes; i++) services.push(await tools.startService(settings));
		if (release !== undefined) {
			await untilShared(services);
			await release();
		}
		await receiver.until(1);
		const cpuBefore = totalCpu(services);
		const sentBefore = (await receiver.count()).count;
		await receiver.until(deliveries, (count) => tools.say(`${count} of ${deliveries} sent`));
		await untilStored(databaseUrl);
		const endedAtMs = performance.timeOrigin + performance.now();
		const cpu = totalCpu(services) - cpuBefore;
		const { count, firstAtMs } = await receiver.count();
		const retried = await Promise.all(services.map((service) => countRetried(service)));
		return {
			requests: count,
			perSecond: deliveries / ((endedAtMs - firstAtMs) / 1_000),
			cpuMicros: cpu / (deliveries - sentBefore),
			residentMb: Math.max(...services.map(({ pid }) => residentMb(pid))),
			retried: retried.reduce((sum, one) => sum + one, 0),
		};
	} finally {
		await Promise.all(services.map((service) => service.stop()));
	}
}

async function untilShared(services: readonly ServiceProcess[]): Promise<void> {
	const share = Math.floor(SLOTS / services.length);
	while (true) {
		const metrics = await Promise.all(services.map((service) => service.metrics()));
		if (metrics.every((one) => sumOf(one, "ringback_slots") >= share)) return;
		await sleep(LOOK_MS);
	}
}

/** Waits until all deliveries are sent and their results are stored. */
export async function untilStored(databaseUrl: string): Promise<void> {
	await withStore(databaseUrl, async ({ db }) => {
		const waiting = db.selectFrom("queue").select("id").limit(1);
		while ((await waiting.executeTakeFirst()) !== undefined) await sleep(LOOK_MS);
	});
}

/** Returns the number of retries. The receiver answers at once, so the service itself caused every retry. */
async function countRetried(service: ServiceProcess): Promise<number> {
	return (await service.metrics()).get('ringback_attempts_total{verdict="retry"}') ?? 0;
}

function totalCpu(services: readonly ServiceProcess[]): number {
	return services.reduce((sum, { pid }) => sum + cpuMicros(pid), 0);
}
