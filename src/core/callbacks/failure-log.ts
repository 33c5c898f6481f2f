// Logs failed attempts, so that an operator can see whether a shop or a partner was told of a sale. Each line has ids,
// the shop's answer, and the due time of the next attempt. Lines contain no URL, secret, body or order id. Their
// number is limited, because a million failures must not fill the disk, and the pages show every attempt anyway.

import { isTestEvent } from "../domain/event.ts";
import { readPartnerEvent } from "../domain/partner-event.ts";
import type { ReceiverId } from "../domain/receiver.ts";
import { isoTime, MINUTE_MS } from "../domain/time.ts";
import type { Clock, Log } from "../ports.ts";
import { type NamedDelivery, nameDeliveries } from "../store/queries/deliveries.ts";
import type { Settlement } from "../store/queries/queue.ts";
import type { Db } from "../store/store.ts";
import { type FailedAttempt, isFailedAttempt } from "./failure-notices.ts";

/** Maximum number of lines in a minute, about 120 KB. */
const MAX_LINES = 300;
/** Maximum number of lines in a minute about one receiver, so that a broken shop leaves room for the others. */
const MAX_LINES_OF_RECEIVER = 20;

export const FAILED_MESSAGE = "an attempt to send a callback failed";
export const LEFT_OUT_MESSAGE =
	"more attempts failed than are logged one by one; the lists of callbacks have all of them";

export interface FailureLog {
	/**
	 * Logs the failed attempts among these stored results. Attempts beyond the limit are only counted. It must be called
	 * every few seconds even without results, because it also logs the counts.
	 */
	write(db: Db, settled: Iterable<Settlement>): Promise<void>;
	/** Logs how many lines were left out, because nothing is logged after this call. */
	stop(): void;
}

export function createFailureLog({ clock, log }: { clock: Clock; log: Log }): FailureLog {
	let beganAtMs = clock.monotonicMs();
	let lines = 0;
	const linesOf = new Map<ReceiverId, number>();
	let leftOut = 0;
	let receiversLeftOut = new Set<ReceiverId>();

	function logLeftOut(): void {
		if (leftOut > 0) log.info({ attempts: leftOut, receivers: receiversLeftOut.size }, LEFT_OUT_MESSAGE);
		leftOut = 0;
		receiversLeftOut = new Set();
	}

	function endMinute(): void {
		const nowMs = clock.monotonicMs();
		if (nowMs - beganAtMs < MINUTE_MS) return;
		logLeftOut();
		beganAtMs = nowMs;
		lines = 0;
		linesOf.clear();
	}

	function hasRoom({ delivery: { receiverId } }: FailedAttempt): boolean {
		const ofReceiver = linesOf.get(receiverId) ?? 0;
		if (lines < MAX_LINES && ofReceiver < MAX_LINES_OF_RECEIVER) {
			lines++;
			linesOf.set(receiverId, ofReceiver + 1);
			return true;
		}
		leftOut++;
		receiversLeftOut.add(receiverId);
		return false;
	}

	return {
		async write(db, settled) {
			endMinute();
			const failures = [...settled].filter(isFailedAttempt).filter(hasRoom);
			if (failures.length === 0) return;
			const named = await nameDeliveries(
				db,
				failures.map(({ delivery }) => delivery.id),
			);
			for (const failure of failures) {
				const delivery = named.get(failure.delivery.id);
				if (delivery !== undefined) log.info(describeFailure(failure, delivery), FAILED_MESSAGE);
			}
		},
		stop: logLeftOut,
	};
}

function describeFailure(failure: FailedAttempt, delivery: NamedDelivery): object {
	const { eventBody, counted, run } = failure.delivery;
	const { verdict, attempt, kind } = failure;
	return {
		delivery: delivery.publicId,
		event: delivery.name,
		receiver: delivery.kind,
		...subjectOf(delivery, eventBody),
		attempt: counted + 1,
		...(run > 1 ? { run } : {}),
		verdict,
		cause: attempt.httpStatus === null ? (attempt.detail ?? verdict) : `HTTP ${attempt.httpStatus}`,
		nextAt: kind === "retry" ? isoTime(failure.dueAtMs) : null,
		...(isTestEvent(eventBody) ? { test: true } : {}),
	};
}

/** Returns the public ids of the conversion, the programme and the partner. */
function subjectOf({ kind, name }: NamedDelivery, eventBody: string): object {
	if (kind === "partner") {
		const {
			conversionId: conversion,
			programId: programme,
			partnerId: partner,
		} = readPartnerEvent(name, eventBody, 0);
		return { conversion, programme, partner };
	}
	const [conversion, , programme] = eventBody.split("\n");
	return { conversion, programme };
}
