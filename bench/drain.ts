// Deliveries that are due, sent by one or more real service processes until every result is durably stored.

import { setTimeout as sleep } from "node:timers/promises";
import { withStore } from "./database.ts";
import { cpuMicros, residentMb } from "./process-cost.ts";
import type { Receiver } from "./receiver-process.ts";
import { type ServiceProcess, startService, sumOf } from "./service-process.ts";

export interface DrainOptions {
	databaseUrl: string;
	receiver: Receiver;
	deliveries: number;
	processes?: number;
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
	lostToLateness: number;
}

const LOOK_MS = 10;

export async function drain(options: DrainOptions): Promise<DrainAnswer> {
	const { databaseUrl, receiver, deliveries, processes = 1, more = {}, say } = options;
	await receiver.forget();
	const settings = { databaseUrl, caFile: receiver.caFile, role: "worker", more } as const;
	const services: ServiceProcess[] = [];
	try {
		for (let i = 0; i < processes; i++) services.push(await startService(settings));
		await receiver.until(1);
		const cpuBefore = totalCpu(services);
		const sentBefore = (await receiver.count()).count;
		await receiver.until(deliveries, (count) => say(`${count} of ${deliveries} sent`));
		await untilStored(databaseUrl);
		const endedAtMs = performance.timeOrigin + performance.now();
		const cpu = totalCpu(services) - cpuBefore;
		const { count, firstAtMs } = await receiver.count();
		const lost = await Promise.all(services.map((service) => lostToLateness(service)));
		return {
			requests: count,
			perSecond: deliveries / ((endedAtMs - firstAtMs) / 1_000),
			cpuMicros: cpu / (deliveries - sentBefore),
			residentMb: Math.max(...services.map(({ pid }) => residentMb(pid))),
			lostToLateness: lost.reduce((sum, one) => sum + one, 0),
		};
	} finally {
		await Promise.all(services.map((service) => service.stop()));
	}
}

/** Nothing waits to be sent or to be stored any more. */
export async function untilStored(databaseUrl: string): Promise<void> {
	await withStore(databaseUrl, async ({ db }) => {
		const waiting = db.selectFrom("queue").select("id").limit(1);
		while ((await waiting.executeTakeFirst()) !== undefined) await sleep(LOOK_MS);
	});
}

export async function lostToLateness(service: ServiceProcess): Promise<number> {
	return sumOf(await service.metrics(), "ringback_attempts_lost_to_lateness_total");
}

function totalCpu(services: readonly ServiceProcess[]): number {
	return services.reduce((sum, { pid }) => sum + cpuMicros(pid), 0);
}
