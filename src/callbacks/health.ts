// How a programme's callbacks are doing: now, the last 24 hours, the answers' speed, what waits, the last 14 days.

import { DAY_MS, utcDay } from "../domain/time.ts";
import {
	findOldestPending,
	listCallbackHours,
	newestAnswerTimes,
	type Pending,
} from "../store/queries/delivery-health.ts";
import { listNewestAnswers } from "../store/queries/local-answers.ts";
import type { Programme } from "../store/queries/programmes.ts";
import type { Db } from "../store/store.ts";
import { type PresentTrouble, readTrouble } from "./failure-notices.ts";

export interface CallbackHealth {
	/** Null while the newest attempts succeed, or none was made. */
	trouble: PresentTrouble | null;
	/** Attempts of the last 24 hours, to the hour. */
	delivered: number;
	failed: number;
	/** Of the newest answers within 24 hours; null when there was none. */
	p95Ms: number | null;
	pending: Pending;
	/** When a listener last told of an event, within 24 hours; null when none did. */
	listenedAtMs: number | null;
	/** The oldest first, today last; days without an attempt too. */
	days: readonly { day: string; delivered: number; failed: number }[];
}

const CHART_DAYS = 14;
const PERCENTILE = 0.95;

export async function readCallbackHealth(
	db: Db,
	programme: Pick<Programme, "id" | "endpoint_id">,
	nowMs: number,
): Promise<CallbackHealth> {
	const { id: programmeId } = programme;
	const today = Math.floor(nowMs / DAY_MS);
	const hours = await listCallbackHours(db, programmeId, (today - CHART_DAYS + 1) * DAY_MS);
	const [listened] = await listNewestAnswers(db, programmeId, 1);
	const recent = hours.filter(({ hourMs }) => hourMs > nowMs - DAY_MS);
	return {
		trouble: await readTrouble(db, programme, nowMs),
		delivered: sum(recent.map(({ delivered }) => delivered)),
		failed: sum(recent.map(({ failed }) => failed)),
		p95Ms: percentile(await newestAnswerTimes(db, programmeId, nowMs - DAY_MS)),
		pending: await findOldestPending(db, programmeId),
		listenedAtMs: listened !== undefined && listened.atMs > nowMs - DAY_MS ? listened.atMs : null,
		days: Array.from({ length: CHART_DAYS }, (_, index) => {
			const day = today - CHART_DAYS + 1 + index;
			const ofDay = hours.filter(({ hourMs }) => Math.floor(hourMs / DAY_MS) === day);
			return {
				day: utcDay(day * DAY_MS),
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
