// POST /v1/events/answers: `ringback listen` tells what came of events on the developer's machine, so that the
// Integration page can show it. It changes nothing of any delivery, and more of it than a person can look at is not kept.

import * as z from "zod";
import { createTokenBuckets, type Rate } from "../concurrency/rate-limit.ts";
import { EVENT_NAMES } from "../domain/event-name.ts";
import { type Result, succeed } from "../domain/fault.ts";
import { LOCAL_OUTCOMES } from "../domain/local-answer.ts";
import { MINUTE_MS } from "../domain/time.ts";
import {
	findAnnounced,
	findListener,
	insertLocalAnswers,
	type ToldAnswer,
} from "../store/queries/local-answers.ts";
import { CONVERSION_ID } from "./answers.ts";
import type { CallPlan } from "./call-plan.ts";
import { checkFields, parseJson } from "./read-request.ts";
import { type Endpoint, refusedPlan, type SignedCall } from "./signed-call.ts";

/** As many as one call may tell of; a listener gathers them, and some 35 KB are well within a body. */
export const MAX_ANSWERS = 200;
/** A developer tries a handful; a listener on a busy shop goes on forwarding, and the page shows some of it. */
export const ANSWER_BUDGET: Rate = { burst: 200, perSecond: 0.1 };
/** A stream is noted when it opens and every quarter of a minute: this spans a restart of either side. */
const LISTENED_WITHIN_MS = 5 * MINUTE_MS;
/** A day: a longer time is a clock that jumped. */
const MAX_TOOK_MS = 86_400_000;

const OF_EVENT = z.strictObject({
	conversionId: CONVERSION_ID,
	event: z.enum(EVENT_NAMES).describe("Which of its events."),
	code: z
		.string()
		.regex(/^\w{1,40}$/)
		.meta({ description: "Why there is none, in a word.", examples: ["ECONNREFUSED"] })
		.optional(),
	tookMs: z.int().min(0).max(MAX_TOOK_MS).optional().describe("How long it took, in milliseconds."),
});

const ANSWER = z.discriminatedUnion("outcome", [
	OF_EVENT.extend({
		outcome: z.literal("answered").describe("Your endpoint answered with `status`."),
		status: z.int().min(100).max(599).describe("The HTTP status."),
	}),
	OF_EVENT.extend({
		outcome: z
			.enum(LOCAL_OUTCOMES)
			.exclude(["answered"])
			.describe(
				"`timeout`, `no_connection`: your endpoint did not answer. `verified`, `not_verified`: there is no endpoint, and the listener checked the signature itself.",
			),
	}),
]);

export const ANSWERS_BODY = z.strictObject({
	answers: z.array(ANSWER).min(1).max(MAX_ANSWERS).describe("In the order in which the events came."),
});

export function createPostEventAnswers(): Endpoint {
	const budgets = createTokenBuckets(ANSWER_BUDGET);
	return (call) => {
		const told = parseAnswers(call);
		if (!told.ok) return refusedPlan(told);
		const { programme, nowMs } = call;
		const answer: CallPlan["answer"] = async (_, trx) => {
			const listener = await findListener(trx, programme.id);
			const isListening = listener !== undefined && nowMs - listener.seenAtMs <= LISTENED_WITHIN_MS;
			const ids = [...new Set(told.value.map(({ conversionId }) => conversionId))];
			const announced = isListening ? await findAnnounced(trx, programme.id, ids) : new Set<string>();
			// Where there is room for some, for the newest: they are what somebody looks for.
			const kept = told.value
				.toReversed()
				.filter(
					({ conversionId, event }) =>
						announced.has(`${conversionId} ${event}`) && budgets.take(programme.id, nowMs),
				)
				.toReversed();
			await insertLocalAnswers(trx, programme.id, kept, nowMs);
			return succeed({
				outcome: "HEARD",
				httpStatus: 200,
				body: { kept: kept.length },
				conversionId: null,
				isOfListener: true,
			});
		};
		return { orderId: null, runsAlone: true, requests: [], answer };
	};
}

function parseAnswers(call: SignedCall): Result<readonly ToldAnswer[]> {
	const json = parseJson(call);
	if (!json.ok) return json;
	const fields = checkFields(ANSWERS_BODY, json.value);
	if (!fields.ok) return fields;
	return succeed(
		fields.value.answers.map((told) => ({
			conversionId: told.conversionId,
			event: told.event,
			outcome: told.outcome,
			httpStatus: told.outcome === "answered" ? told.status : null,
			code: told.code ?? null,
			tookMs: told.tookMs ?? null,
		})),
	);
}
