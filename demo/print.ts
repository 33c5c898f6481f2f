// Prints a callback for people, or as JSON for scripts.

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
