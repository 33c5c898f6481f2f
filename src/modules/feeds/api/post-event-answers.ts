// POST /v1/events/answers. `ringback listen` reports how the developer's machine answered events, so that the
// Integration page can show it. The reports do not affect any delivery, and no more answers are stored than a person can
// read.

import * as z from "zod";
import type { LonePlan } from "#core/api/call-plan.ts";
import { CONVERSION_FIELDS } from "#core/api/conversion-fields.ts";
import { checkFields, parseJson } from "#core/api/read-request.ts";
import { answer, type SignedRoute } from "#core/api/route.ts";
import { EXAMPLE_CONVERSION_ID } from "#core/api/sale-fields.ts";
import { type Endpoint, refusedPlan, type SignedCall } from "#core/api/signed-call.ts";
import { EVENT_NAMES } from "#core/domain/event-name.ts";
import { type Result, succeed } from "#core/domain/fault.ts";
import { LOCAL_OUTCOMES } from "#core/domain/local-answer.ts";
import { MINUTE_MS } from "#core/domain/time.ts";
import {
	findAnnounced,
	findListener,
	insertLocalAnswers,
	type ReportedAnswer,
} from "#core/store/queries/local-answers.ts";
import { createTokenBuckets, type Rate } from "../../../concurrency/rate-limit.ts";

/**
 * Maximum number of answers in a call. The listener collects answers before it sends them. This many take
 * about 35 KB, well below the limit of a body.
 */
export const MAX_ANSWERS = 200;
/**
 * Rate at which answers are stored. A developer needs only a handful, so the page of a busy shop shows only
 * some of them.
 */
export const ANSWER_RATE: Rate = { burst: 200, perSecond: 0.1 };
/**
 * Time after which a listener that was not seen no longer counts as listening. It is seen when its stream
 * opens and every 15 seconds, so the time is long enough for a restart of the service or the listener.
 */
const LISTENED_WITHIN_MS = 5 * MINUTE_MS;
/** Maximum duration of an answer, one day. A longer duration means that a clock jumped. */
const MAX_TOOK_MS = 86_400_000;

const OF_EVENT = z.strictObject({
	conversionId: CONVERSION_FIELDS.id,
	event: z.enum(EVENT_NAMES).describe("The event of the conversion."),
	code: z
		.string()
		.regex(/^\w{1,40}$/, "must have 1 to 40 letters, digits and underscores")
		.meta({ description: "Error code, if there was no answer.", examples: ["ECONNREFUSED"] })
		.optional(),
	tookMs: z.int().min(0).max(MAX_TOOK_MS).optional().describe("Duration in milliseconds."),
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
				"`timeout`, `no_connection`: your endpoint did not answer. `verified`, `not_verified`: there is no endpoint, and the listener verified the signature itself.",
			),
	}),
]);

const ANSWERS_BODY = z.strictObject({
	answers: z
		.array(ANSWER)
		.min(1)
		.max(MAX_ANSWERS)
		.meta({
			description: "The answers in the order of the events.",
			examples: [
				[
					{
						conversionId: EXAMPLE_CONVERSION_ID,
						event: "conversion.recorded",
						outcome: "answered",
						status: 204,
						tookMs: 12,
					},
				],
			],
		}),
});

const KEPT_ANSWERS = z
	.strictObject({
		kept: z
			.int()
			.min(0)
			.describe(
				"Number of answers that were stored for the Integration page. Answers are stored only for the programme's own events, while a stream is open or was open minutes ago, and no more than a person would read.",
			),
	})
	.meta({ description: "The number of stored answers." });
type KeptAnswers = z.output<typeof KEPT_ANSWERS>;

export const REPORT_ANSWERS: SignedRoute = {
	caller: "shop",
	method: "POST",
	path: "/v1/events/answers",
	tag: "Events",
	operationId: "tellAnswers",
	summary: "Report the results of events on your machine",
	description: `\`ringback listen\` sends these answers while it forwards events, so that the Integration page can show them. A call may have up to ${MAX_ANSWERS} answers. It does not affect the callbacks to a saved Postback URL.`,
	body: ANSWERS_BODY,
	answers: { 200: answer("The number of stored answers.", KEPT_ANSWERS, { kept: 1 }) },
	faults: ["fields"],
	plan: createPostEventAnswers,
};

function createPostEventAnswers(): Endpoint {
	const rates = createTokenBuckets(ANSWER_RATE);
	return (call) => {
		const answers = parseAnswers(call);
		if (!answers.ok) return refusedPlan(answers);
		const { programme, nowMs } = call;
		const { receiver_id: receiverId } = programme;
		const store: LonePlan["answer"] = async (trx) => {
			const listener = await findListener(trx, receiverId);
			const isListening = listener !== undefined && nowMs - listener.seenAtMs <= LISTENED_WITHIN_MS;
			const ids = [...new Set(answers.value.map(({ conversionId }) => conversionId))];
			const announced = isListening ? await findAnnounced(trx, programme.id, ids) : new Set<string>();
			// If the rate does not allow all answers, the newest ones are stored, because people look for those.
			const stored = answers.value
				.toReversed()
				.filter(
					({ conversionId, event }) =>
						announced.has(`${conversionId} ${event}`) && rates.take(receiverId, nowMs),
				)
				.toReversed();
			await insertLocalAnswers(trx, receiverId, stored, nowMs);
			return succeed({
				outcome: "HEARD",
				httpStatus: 200,
				body: { kept: stored.length } satisfies KeptAnswers,
				conversionId: null,
				isOfListener: true,
			});
		};
		return { orderId: null, runsAlone: true, requests: [], answer: store };
	};
}

function parseAnswers(call: SignedCall): Result<readonly ReportedAnswer[]> {
	const json = parseJson(call);
	if (!json.ok) return json;
	const fields = checkFields(ANSWERS_BODY, json.value);
	if (!fields.ok) return fields;
	return succeed(
		fields.value.answers.map((answer) => ({
			conversionId: answer.conversionId,
			event: answer.event,
			outcome: answer.outcome,
			httpStatus: answer.outcome === "answered" ? answer.status : null,
			code: answer.code ?? null,
			tookMs: answer.tookMs ?? null,
		})),
	);
}
