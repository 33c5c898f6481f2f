// At the top of the page: the checks that tick themselves, each undone one with what to do.

import { html } from "hono/html";
import type { IntegrationChecks } from "../../store/first-times.ts";
import { steps } from "../components/blocks.ts";
import type { Html } from "../html.ts";

export function checkSteps(checks: IntegrationChecks, parksPixels: boolean): Html {
	return steps([
		{
			isDone: checks.hasKey,
			title: "Key issued",
			text: checks.hasKey
				? "Your server can sign in to the API."
				: html`<a href="#keys">Issue an API key</a>; the first brings the signing secret.`,
		},
		{
			isDone: checks.hasSignedRequest,
			title: "Signed request accepted",
			text: checks.hasSignedRequest
				? "Your server's postbacks arrive and verify."
				: html`Send one with the <a href="#snippets">ready snippet</a>.`,
		},
		{
			isDone: checks.hasPixel,
			title: parksPixels ? "Pixel confirmed" : "Pixel recorded",
			text: checks.hasPixel ? pixelWords(parksPixels) : pixelAdvice(parksPixels),
		},
		{
			isDone: checks.hasCallback,
			title: "Callback answered 2xx",
			text: checks.hasCallback
				? "Your shop hears of status changes."
				: html`<a href="#callback">Save a Postback URL</a>, then <a href="#test">send a test</a>.`,
		},
	]);
}

function pixelWords(parksPixels: boolean): string {
	return parksPixels ? "Browser and server agree on an order." : "Your thank-you page's pixel arrives.";
}

function pixelAdvice(parksPixels: boolean): Html {
	if (!parksPixels) return html`Optional: place the <a href="#snippets">pixel</a> on your thank-you page.`;
	return html`Optional: place the <a href="#snippets">pixel</a>, then confirm its order by a signed request.`;
}
