// The pixel, with which a browser reports a sale without a signature. The browser always gets its image. The
// inbound log tells the shop's staff what was done, or why a call was refused.
//
//   admitted ─▶ programme found ─▶ report parsed ─▶ stored with the signed calls that wait (intake.ts) ─▶ image

import * as z from "zod";
import type { Admission } from "../../concurrency/admission.ts";
import { refuseBusy } from "../conversions/order-request.ts";
import { reportRequest } from "../conversions/record.ts";
import type { Report } from "../conversions/report.ts";
import { type Fault, type FaultCode, type Result, succeed } from "../domain/fault.ts";
import type { Callers } from "../programmes/callers.ts";
import { unknownProgramme } from "../programmes/programmes.ts";
import type { Programme } from "../store/queries/programmes.ts";
import { type Answer, decidedAnswer } from "./answers.ts";
import type { AppContext, AppDeps } from "./deps.ts";
import {
	callerBlock,
	type InboundCall,
	type RefusalLog,
	readInboundCall,
	targetQuery,
} from "./inbound-log.ts";
import { type Intake, tooManyWaiting } from "./intake.ts";
import { ourFault, SAFE_HEADERS } from "./problem.ts";
import { checkFields, parseQuery } from "./read-request.ts";
import type { PublicCall } from "./route.ts";
import { EXAMPLE_PROGRAM_ID, mentionedOrderId, parseSale, SALE } from "./sale-fields.ts";

/** One transparent pixel in 43 bytes, the smallest image that every browser draws. */
const IMAGE = Buffer.from("R0lGODlhAQABAIAAAP///wAAACH5BAEAAAAALAAAAAABAAEAAAICRAEAOw==", "base64");

const PATH = /^\/pixel\/([0-9A-Za-z_]{1,64})\.gif$/;

/** Status of every answer, whether or not the report was accepted. */
const HTTP_STATUS = 200;

const IMAGE_HEADERS = { "content-type": "image/gif", "cache-control": "no-store", ...SAFE_HEADERS };

const LIMITED: FaultCode = "pixel_limited";

/**
 * Query parameters of the pixel. Unknown parameters are ignored, because shops add their own to defeat
 * caches.
 */
const PIXEL_QUERY = z.object({
	...SALE,
	clickId: signalField("A click ID"),
	couponCode: signalField("A coupon code"),
});

/** Returns the schema of a field that shops may send and that the pixel does not use, because anybody can call it. */
function signalField(noun: string) {
	return z
		.string()
		.optional()
		.meta({
			description: `${noun} may be sent and credits nobody, because anybody can call the pixel. The credit is made when the shop's server reports the order with the same field.`,
		});
}

export const LOAD_PIXEL: PublicCall = {
	caller: "anyone",
	method: "GET",
	path: "/pixel/{programId}.gif",
	pathParameters: { programId: { description: "The programme's ID.", example: EXAMPLE_PROGRAM_ID } },
	tag: "Pixel",
	operationId: "loadPixel",
	summary: "Report a sale from the customer's browser",
	description:
		"For the shop's thank-you page, with the order's ID and amount in place of `ORDER_ID` and `AMOUNT`. The answer is always the image, also if the report is refused; the inbound log on the Integration page then says why. The conversion is parked until the shop's server confirms the order with `POST /v1/conversions`. Programmes that do not park pixel reports record it at once. Anybody can call the pixel, so a pixel call by itself proves nothing: confirm every order from the shop's server, or review pixel conversions before they are approved. The report of the shop's server always counts, whichever comes first. Calls beyond the limits are refused, and the inbound log says how many there were. Other names in the query are ignored.",
	query: PIXEL_QUERY,
	answers: { 200: { description: "A transparent image of one pixel.", mediaType: "image/gif" } },
	faults: [],
	writeSample(publicUrl) {
		const src = `${publicUrl}/pixel/${EXAMPLE_PROGRAM_ID}.gif?orderId=ORDER_ID&amp;basketValue=AMOUNT`;
		return { lang: "HTML", label: "HTML", source: `<img src="${src}" width="1" height="1" alt="">` };
	},
};

export function pixelImage(): Response {
	return new Response(IMAGE, { status: HTTP_STATUS, headers: IMAGE_HEADERS });
}

export function createPixel(
	deps: AppDeps,
	{
		callers,
		intake,
		refusals,
		admission,
	}: { callers: Callers; intake: Intake; refusals: RefusalLog; admission: Admission },
): (c: AppContext) => Promise<Response> {
	const { log, metrics } = deps;
	return async (c) => {
		const outcome = await answer(c, PATH.exec(c.req.path)?.[1]);
		metrics.countInbound("pixel", outcome);
		return pixelImage();
	};

	/**
	 * Answers a pixel call and resolves to its outcome word or fault code. Rate limits are checked before
	 * anything of the call is read, so that a flood costs next to nothing. The programme may not exist.
	 */
	async function answer(c: AppContext, programmeId = ""): Promise<string> {
		const addressBlock = callerBlock(c, deps);
		const origin = { addressBlock, programme: programmeId };
		const leave = await admission.admit("pixelCalls", addressBlock ?? "private addresses", origin);
		if (leave === undefined) {
			deps.limitedCalls.note(programmeId, addressBlock);
			return LIMITED;
		}
		return takeReport(readInboundCall(c, deps, "pixel"), programmeId).finally(leave);
	}

	/** Stores the report of a pixel and resolves to its outcome word or fault code. Never rejects. */
	async function takeReport(call: InboundCall, publicId: string): Promise<string> {
		const query = targetQuery(call.target);
		const refuse = async (found: Fault, programmeId: number | null): Promise<string> => {
			const orderId = mentionedOrderId({ orderId: query.get("orderId") });
			await refusals.write(call, found, { programmeId, orderId, httpStatus: HTTP_STATUS });
			return found.code;
		};
		try {
			const programme = publicId === "" ? undefined : await callers.findProgramme(publicId);
			if (programme === undefined) {
				return await refuse(unknownProgramme(publicId || "of that name").fault, null);
			}
			const report = parseReport(query, programme);
			if (!report.ok) return await refuse(report.fault, programme.id);
			const result = await record(call, programme, report.value);
			if (result === undefined) return await refuse(tooManyWaiting(), programme.id);
			return result.ok ? result.value.outcome : result.fault.code;
		} catch (error) {
			log.error({ err: error, target: call.target }, "a pixel call failed");
			return refuse(ourFault(error), null);
		}
	}

	/** Stores the report in a batch together with signed calls. */
	function record(
		call: InboundCall,
		programme: Programme,
		report: Report,
	): Promise<Result<Answer> | undefined> {
		return intake.accept({
			inbound: call,
			programme,
			caller: null,
			orderId: report.orderId,
			requests: [reportRequest(deps, programme, report)],
			answer: ([decided = refuseBusy()]) =>
				decided.ok ? succeed(decidedAnswer(decided.value, programme)) : decided,
			httpStatus: HTTP_STATUS,
		});
	}
}

function parseReport(query: URLSearchParams, programme: Programme): Result<Report> {
	const ourFields = new URLSearchParams([...query].filter(([name]) => Object.hasOwn(SALE, name)));
	const values = parseQuery(ourFields);
	if (!values.ok) return values;
	const fields = checkFields(PIXEL_QUERY, values.value);
	if (!fields.ok) return fields;
	const sale = parseSale(programme, fields.value);
	if (!sale.ok) return sale;
	// The browser's clock may be wrong, so the time at which the service received the report is used.
	return succeed({ source: "pixel", ...sale.value, occurredAtMs: null, isTest: false });
}
