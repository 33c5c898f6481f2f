// Deliveries that are due, sent by one or more real service processes until every result is durably stored.

import { setTimeout as sleep } from "node:timers/promises";
import { SLOTS } from "../src/domain/slot.ts";
import { withStore } from "./database.ts";
import { cpuMicros, residentMb } from "./process-cost.ts";
import type { Receiver } from "./receiver-process.ts";
import { type ServiceProcess, startService, sumOf } from "./service-process.ts";

export interface DrainOptions {
	databaseUrl: string;
	receiver: Receiver;
	deliveries: number;
	processes?: number;
	/** Makes them due, once every process has its share of the slots; without it they are from the start. */
	release?: () => Promise<void>;
	/** Of the service. */
	more?: Readonly<Record<string, string>>;
	say: (line: string) => void;
}

export interface DrainAnswer {
	/** As many as deliveries, if nothing was sent twice. */
	requests: number;
	/** From the first request at the receiver until the last result is stored. */
	perSecond: number;
	/** Of all service processes, per delivery, without their start. */
	cpuMicros: number;
	/** Of the largest process, at the end. */
	residentMb: number;
	/** Attempts that ran out of time because we were too busy, as the service counts them. */
	retried: number;
}

const LOOK_MS = 10;

export async function drain(options: DrainOptions): Promise<DrainAnswer> {
	const { databaseUrl, receiver, deliveries, processes = 1, release, more = {}, say } = options;
	await receiver.forget();
	const settings = { databaseUrl, caFile: receiver.caFile, role: "worker", more } as const;
	const services: ServiceProcess[] = [];
	try {
		for (let i = 0; i < processes; i++) services.push(await startService(settings));
		if (release !== undefined) {
			await untilShared(services);
			await release();
		}
		await receiver.until(1);
		const cpuBefore = totalCpu(services);
		const sentBefore = (await receiver.count()).count;
		await receiver.until(deliveries, (count) => say(`${count} of ${deliveries} sent`));
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

/** Nothing waits to be sent or to be stored any more. */
export async function untilStored(databaseUrl: string): Promise<void> {
	await withStore(databaseUrl, async ({ db }) => {
		const waiting = db.selectFrom("queue").select("id").limit(1);
		while ((await waiting.executeTakeFirst()) !== undefined) await sleep(LOOK_MS);
	});
}

/** The receiver answers at once: whatever has to be tried again was our own fault. */
async function countRetried(service: ServiceProcess): Promise<number> {
	return (await service.metrics()).get('ringback_attempts_total{verdict="retry"}') ?? 0;
}

function totalCpu(services: readonly ServiceProcess[]): number {
	return services.reduce((sum, { pid }) => sum + cpuMicros(pid), 0);
}
