// Reads the health of callbacks to a receiver for the pages.

import { DAY_MS } from "../domain/time.ts";
import { dayIn, dayStartMs } from "../domain/zone-day.ts";
import {
	findOldestPending,
	listCallbackQuarters,
	newestAnswerTimes,
	type Pending,
} from "../store/queries/delivery-health.ts";
import { listNewestAnswers } from "../store/queries/local-answers.ts";
import type { ReceiverColumns } from "../store/queries/receivers.ts";
import type { Db } from "../store/store.ts";
import { type PresentTrouble, readTrouble } from "./failure-notices.ts";

export interface CallbackHealth {
	/** Present trouble with callbacks, or null if the newest attempt succeeded or there was no attempt. */
	trouble: PresentTrouble | null;
	/**
	 * Number of successful attempts in the last 24 hours, rounded to quarters of an hour. `failed` counts the others.
	 */
	delivered: number;
	failed: number;
	/** 95th percentile of the newest answer times within 24 hours, or null if no request was answered. */
	p95Ms: number | null;
	pending: Pending;
	/** Time at which `ringback listen` last reported an event, or null if it reported none within 24 hours. */
	listenedAtMs: number | null;
	/** Numbers of attempts on each of the last 14 days, the oldest day first. Days without an attempt are included. */
	days: readonly { day: string; delivered: number; failed: number }[];
}

const CHART_DAYS = 14;
const PERCENTILE = 0.95;

export async function readCallbackHealth(
	db: Db,
	{ receiver_id: receiverId, endpoint_id }: Pick<ReceiverColumns, "receiver_id" | "endpoint_id">,
	nowMs: number,
	/** Time zone in which the days of the chart begin and end. */
	zone = "UTC",
): Promise<CallbackHealth> {
	const today = Temporal.PlainDate.from(dayIn(nowMs, zone));
	const days = Array.from({ length: CHART_DAYS }, (_, index) =>
		today.subtract({ days: CHART_DAYS - 1 - index }).toString(),
	);
	const quarters = await listCallbackQuarters(db, receiverId, dayStartMs(days[0] ?? "", zone));
	const byDay = Map.groupBy(quarters, ({ quarterMs }) => dayIn(quarterMs, zone));
	const [listened] = await listNewestAnswers(db, receiverId, 1);
	const recent = quarters.filter(({ quarterMs }) => quarterMs > nowMs - DAY_MS);
	return {
		trouble: await readTrouble(db, { receiver_id: receiverId, endpoint_id }, nowMs),
		delivered: sum(recent.map(({ delivered }) => delivered)),
		failed: sum(recent.map(({ failed }) => failed)),
		p95Ms: percentile(await newestAnswerTimes(db, receiverId, nowMs - DAY_MS)),
		pending: await findOldestPending(db, receiverId),
		listenedAtMs: listened !== undefined && listened.atMs > nowMs - DAY_MS ? listened.atMs : null,
		days: days.map((day) => {
			const ofDay = byDay.get(day) ?? [];
			return {
				day,
				delivered: sum(ofDay.map(({ delivered }) => delivered)),
				failed: sum(ofDay.map(({ failed }) => failed)),
			};
		}),
	};
}

function sum(numbers: readonly number[]): number {
	return numbers.reduce((total, number) => total + number, 0);
}

function percentile(numbers: readonly number[]): number | null {
	const sorted = numbers.toSorted((a, b) => a - b);
	return sorted[Math.ceil(sorted.length * PERCENTILE) - 1] ?? null;
}
