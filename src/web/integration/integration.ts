// Every address of the integration pages. All are below /programmes/:programmeId, where the sign-in, the right to
// the programme and the form's token have been checked before.

import type { Hono } from "hono";
import { findDeliveryDetail } from "../../store/attempt-list.ts";
import type { WebDeps } from "../deps.ts";
import type { WebContext, WebEnv } from "../env.ts";
import { answerError } from "../error-page.ts";
import { LiveStreams } from "../live.ts";
import { createStillAllowed } from "../live-access.ts";
import { programmeOf, viewerOf } from "../viewer.ts";
import {
	type Action,
	postKey,
	postResend,
	postResendFailed,
	postRevocation,
	postTest,
	postTestMove,
	postUrl,
	postUrlRemoval,
} from "./actions.ts";
import { answerDelivery, deliveryFingerprint, renderDeliveryLive } from "./delivery-page.ts";
import { answerInbound } from "./inbound-page.ts";
import { answerIntegration, fingerprintOf, renderLive } from "./integration-page.ts";
import { deliveryPath, integrationPath } from "./paths.ts";
import { postSecret, postSecretActivation, postSecretDiscard, postSecretEnd } from "./secret-actions.ts";
import { answerSignatureCheck, answerSignaturePage } from "./signature-page.ts";

const INTEGRATION = "/programmes/:programmeId/integration";
const DELIVERY = "/programmes/:programmeId/deliveries/:deliveryId";

const PAGES: readonly (readonly [path: string, answer: Action])[] = [
	[INTEGRATION, (c, deps) => answerIntegration(c, deps)],
	[`${INTEGRATION}/inbound`, answerInbound],
	[`${INTEGRATION}/signature`, answerSignaturePage],
	[DELIVERY, answerDelivery],
];

const ACTIONS: readonly (readonly [path: string, action: Action])[] = [
	[`${INTEGRATION}/keys`, postKey],
	[`${INTEGRATION}/keys/:keyId/revoke`, postRevocation],
	[`${INTEGRATION}/secret`, postSecret],
	[`${INTEGRATION}/secret/activate`, postSecretActivation],
	[`${INTEGRATION}/secret/discard`, postSecretDiscard],
	[`${INTEGRATION}/secret/end`, postSecretEnd],
	[`${INTEGRATION}/postback-url`, postUrl],
	[`${INTEGRATION}/postback-url/remove`, postUrlRemoval],
	[`${INTEGRATION}/test`, postTest],
	[`${INTEGRATION}/test/:conversionId`, postTestMove],
	[`${INTEGRATION}/resend-failed`, postResendFailed],
	[`${INTEGRATION}/signature`, answerSignatureCheck],
	[`${DELIVERY}/resend`, postResend],
];

export function mountIntegration(site: Hono<WebEnv>, deps: WebDeps): void {
	for (const [path, answer] of PAGES) site.get(path, (c) => answer(c, deps));
	for (const [path, action] of ACTIONS) site.post(path, (c) => action(c, deps));
	// Whoever enters the address of a form that was refused, or comes back to it after signing in.
	for (const [path] of ACTIONS) site.get(path, (c) => c.redirect(pageOf(c), 303));
	const streams = new LiveStreams(deps);
	site.get(`${INTEGRATION}/live`, (c) => {
		const programme = programmeOf(c);
		return watch(c, deps, streams, {
			fingerprint: () => fingerprintOf(deps.store.db, programme),
			render: () => renderLive(c, deps, programme),
		});
	});
	site.get(`${DELIVERY}/live`, async (c) => {
		const programme = programmeOf(c);
		const deliveryId = c.req.param("deliveryId");
		const delivery = await findDeliveryDetail(deps.store.db, programme.id, deliveryId);
		if (delivery === undefined) return answerError(c, "not_found");
		return watch(c, deps, streams, {
			fingerprint: () => deliveryFingerprint(deps.store.db, programme.id, deliveryId),
			render: () => renderDeliveryLive(c, deps, programme, deliveryId),
		});
	});
}

function pageOf(c: WebContext): string {
	const { public_id: programmeId } = programmeOf(c);
	const deliveryId = c.req.param("deliveryId");
	return deliveryId === undefined ? integrationPath(programmeId) : deliveryPath(programmeId, deliveryId);
}

function watch(
	c: WebContext,
	deps: WebDeps,
	streams: LiveStreams,
	source: { fingerprint(): Promise<string>; render(): Promise<string> },
): Response | Promise<Response> {
	// Hono answers HEAD as GET and drops the body: a stream that nobody reads would stay open.
	if (c.req.method !== "GET") return answerError(c, "method_not_allowed");
	const isAllowed = createStillAllowed(c, deps, programmeOf(c));
	// A client that comes back says what it saw last; the first time the page's address says it.
	const seen = c.req.header("last-event-id") ?? c.req.query("seen");
	return streams.answer(viewerOf(c).personId, { ...source, isAllowed }, seen);
}
