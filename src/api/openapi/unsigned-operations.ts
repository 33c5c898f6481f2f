// What is called without a signature: the pixel by browsers, health by load balancers and supervisors.

import type { Operation, PathItem } from "../../openapi.ts";
import { ALIVE, READY } from "../answers.ts";
import { PIXEL_QUERY } from "../pixel.ts";
import { EXAMPLE_PROGRAM_ID } from "../sale-fields.ts";
import { queryParameters } from "./json-schema.ts";
import { jsonAnswer, problemAnswers } from "./operation.ts";
import { type Instance, UNSIGNED } from "./signing.ts";

export function unsignedPaths(instance: Instance): Record<string, PathItem> {
	const operators = { tags: ["Operators"], security: UNSIGNED };
	return {
		"/pixel/{programId}.gif": { get: loadPixel(instance) },
		"/healthz": {
			get: {
				operationId: "checkAlive",
				summary: "Does the process live",
				description: "For a supervisor: it answers as long as the process does.",
				...operators,
				responses: { "200": jsonAnswer("It lives.", ALIVE, "ok", { status: "ok" }) },
			},
		},
		"/readyz": {
			get: {
				operationId: "checkReady",
				summary: "Can it work",
				description: "For a load balancer: not while it starts, stops, or is without its database.",
				...operators,
				responses: {
					"200": jsonAnswer("It can.", READY, "ready", { status: "ready" }),
					...problemAnswers(instance, ["unavailable"]),
				},
			},
		},
	};
}

function loadPixel({ publicUrl }: Instance): Operation {
	const src = `${publicUrl}/pixel/${EXAMPLE_PROGRAM_ID}.gif?orderId=ORDER_ID&amp;basketValue=AMOUNT`;
	return {
		operationId: "loadPixel",
		summary: "Report a sale from the customer's browser",
		description:
			"For the shop's thank-you page, with each order's own id and amount in place of `ORDER_ID` and `AMOUNT`. It always answers with the image, also when the report is refused: the inbound log on the Integration page says why. The conversion is parked until the shop's server confirms the order with `POST /v1/conversions`; programmes that do not park record it at once. Anyone can call it, so a pixel call by itself proves nothing: confirm every order from the shop's server, or review pixel conversions before they are approved. What the shop's server reports always counts, whichever comes first. Calls beyond the limits are not taken; the inbound log says how many there were. Other names in the query are ignored.",
		tags: ["Pixel"],
		security: UNSIGNED,
		parameters: [
			{
				name: "programId",
				in: "path",
				required: true,
				description: "The programme's id.",
				schema: { type: "string" },
				example: EXAMPLE_PROGRAM_ID,
			},
			...queryParameters(PIXEL_QUERY),
		],
		responses: { "200": { description: "A transparent point.", content: { "image/gif": {} } } },
		"x-codeSamples": [
			{ lang: "HTML", label: "HTML", source: `<img src="${src}" width="1" height="1" alt="">` },
		],
	};
}
