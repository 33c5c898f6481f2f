// Prints a callback for people, or as JSON for scripts.

import type { PartnerCallback } from "./sample-partners.ts";
import type { ReceivedCallback } from "./sample-shop.ts";

export function describeCallbackAsJson({
	method,
	path,
	headers,
	body,
	verification,
	answered,
}: ReceivedCallback): string {
	return JSON.stringify({
		type: "request",
		method,
		path,
		headers,
		bodyBase64: body.toString("base64"),
		verified: verification.ok,
		answered,
	});
}

export function describeCallback({
	method,
	path,
	headers,
	body,
	verification,
	answered,
}: ReceivedCallback): string {
	const signed = Object.entries(headers).filter(([name]) => name.startsWith("x-"));
	const lines = [
		`    ┌ ${method} ${path}`,
		...signed.map(([name, value]) => `    │ ${name}: ${value}`),
		`    │ ${body.toString("utf8")}`,
		`    └ ${verification.ok ? "signature verified" : `REFUSED (${verification.reason})`}, the shop answered ${answered}`,
		"",
	];
	return lines.join("\n");
}

export function describePartnerCallbackAsJson({ verification, ...callback }: PartnerCallback): string {
	return JSON.stringify({ type: "partner", ...callback, verified: verification.ok });
}

/** Describes a callback to a partner. A tracker gets its values in the query, and the blog in a JSON body. */
export function describePartnerCallback({ who, method, path, verification }: PartnerCallback): string {
	const signature = verification.ok ? "signature verified" : `REFUSED (${verification.reason})`;
	const event = verification.ok ? verification.event : null;
	const eventWords =
		event === null
			? ""
			: `, ${event.event}, commission ${event.commission} ${event.currency}, sub1 ${event.sub1}`;
	const reader = who === "blog" ? "the blog's program" : "the tracker";
	return `    → ${reader} got ${method} ${path}${eventWords}: ${signature}\n`;
}
