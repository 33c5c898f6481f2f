// The Integration page: everything a shop needs to be heard, and to hear. Loaded once, rendered whole; the parts
// that change by themselves are rendered again for the live stream.

import { html } from "hono/html";
import * as z from "zod";
import { type CallbackHealth, readCallbackHealth } from "../../callbacks/health.ts";
import { EVENT_NAMES } from "../../domain/event-name.ts";
import { sha256Hex } from "../../domain/signature.ts";
import { readCursor } from "../../store/cursor-pair.ts";
import { listDeliveries, listDeliveriesOfConversion, newestProgress } from "../../store/delivery-list.ts";
import { type IntegrationChecks, readIntegrationChecks } from "../../store/integration-checks.ts";
import { findUsableSecrets, listApiKeys } from "../../store/keys.ts";
import { type Programme, presentUrl } from "../../store/programmes.ts";
import type { Db } from "../../store/store.ts";
import { findNewestTest } from "../../store/test-conversion.ts";
import { csrfField } from "../csrf.ts";
import type { WebDeps } from "../deps.ts";
import type { WebContext } from "../env.ts";
import { programmeOf, viewerOf } from "../viewer.ts";
import { type CallbackView, callbackSection } from "./callback-section.ts";
import { checkSteps } from "./checks.ts";
import {
	DELIVERIES_TARGET,
	type DeliveriesQuery,
	type DeliveriesView,
	deliveriesSection,
	deliveriesTable,
} from "./deliveries-section.ts";
import { answerIntegrationPage } from "./frame.ts";
import { healthSection, healthStrip } from "./health-section.ts";
import { takeIssued } from "./issued-cookie.ts";
import { keysSection } from "./keys-section.ts";
import { liveConnector, partial } from "./live-parts.ts";
import { integrationPath } from "./paths.ts";
import { parseLanguage } from "./snippet-values.ts";
import { snippetsSection } from "./snippets-section.ts";
import { TEST_TARGET, type TestView, testResult, testSection } from "./test-section.ts";

/** A screenful; the rest is pages. */
const PAGE_ROWS = 25;
/** Nobody has more in use; revoked ones beyond are history. */
const MAX_SHOWN_KEYS = 50;
const CHECKS_TARGET = "checks-live";
const HEALTH_TARGET = "health-live";
const FINGERPRINT_LENGTH = 16;

const QUERY = z.object({
	state: z.enum(["pending", "delivered", "failed", "cancelled"]).optional().catch(undefined),
	event: z.enum(EVENT_NAMES).optional().catch(undefined),
	order: z.string().trim().min(1).max(128).optional().catch(undefined),
	after: z.string().optional(),
});

export async function answerIntegration(
	c: WebContext,
	deps: WebDeps,
	refused: CallbackView["refused"] = null,
): Promise<Response> {
	const programme = programmeOf(c);
	const { db } = deps.store;
	const path = integrationPath(programme.public_id);
	const query: DeliveriesQuery = {
		state: undefined,
		event: undefined,
		order: undefined,
		after: undefined,
		...QUERY.parse(c.req.query()),
	};
	const issued = takeIssued(c, deps, programme, viewerOf(c).personId);
	// Before the rest: what changes while the page is read is then pushed, not missed.
	const seen = await fingerprintOf(db, programme);
	const live = await loadLive(c, deps, programme, query);
	const { test, deliveries } = live;
	const [secret] = await findUsableSecrets(db, programme.id, deps.clock.nowMs());
	const csrf = csrfField(c);
	const values = { publicUrl: deps.publicUrl, brand: deps.brand, programId: programme.public_id };
	return answerIntegrationPage(c, deps, programme, {
		tab: "set-up",
		title: "Integration",
		hint: "Your server reports sales to us with signed requests; we tell it of every status change.",
		status: refused === null ? 200 : 422,
		body: html`${deliveries.isLive ? liveConnector(`${path}/live?seen=${seen}`) : null}
<h2 class="visually-hidden">What works so far</h2>
<div id="${CHECKS_TARGET}">${checkSteps(live.checks, programme.parks_pixels === 1)}</div>
${keysSection({
	path,
	csrf,
	keys: await listApiKeys(db, programme.id, MAX_SHOWN_KEYS),
	hasSecret: secret !== undefined,
	secretMadeAtMs: secret?.created_at_ms ?? null,
	issued,
})}
${callbackSection({ path, csrf, url: live.url, hasSecret: test.hasSecret, pendingCount: live.health.pending.count, refused })}
${testSection(test)}
${deliveriesSection(deliveries)}
<div id="${HEALTH_TARGET}">${healthStrip(live.health)}</div>
${healthSection(live.health)}
${snippetsSection(path, parseLanguage(c.req.query("lang")), values)}`,
	});
}

/** What the stream pushes when something has changed. */
export async function renderLive(c: WebContext, deps: WebDeps, programme: Programme): Promise<string> {
	const query = { state: undefined, event: undefined, order: undefined, after: undefined };
	const live = await loadLive(c, deps, programme, query);
	return String(
		await html`${partial(CHECKS_TARGET, checkSteps(live.checks, programme.parks_pixels === 1))}${partial(
			TEST_TARGET,
			testResult(live.test),
		)}${partial(DELIVERIES_TARGET, deliveriesTable(live.deliveries))}${partial(HEALTH_TARGET, healthStrip(live.health))}`,
	);
}

export async function fingerprintOf(db: Db, programme: Programme): Promise<string> {
	return sha256Hex(await newestProgress(db, programme.id)).slice(0, FINGERPRINT_LENGTH);
}

interface Live {
	url: string | null;
	checks: IntegrationChecks;
	health: CallbackHealth;
	test: TestView;
	deliveries: DeliveriesView;
}

async function loadLive(
	c: WebContext,
	{ store, clock }: WebDeps,
	programme: Programme,
	query: DeliveriesQuery,
): Promise<Live> {
	const { db } = store;
	const nowMs = clock.nowMs();
	const url = (await presentUrl(db, programme.id)) ?? null;
	const [secret] = await findUsableSecrets(db, programme.id, nowMs);
	const conversion = (await findNewestTest(db, programme.id)) ?? null;
	const common = {
		programmeId: programme.public_id,
		path: integrationPath(programme.public_id),
		csrf: csrfField(c),
		hasUrl: url !== null,
		nowMs,
	};
	return {
		url,
		checks: await readIntegrationChecks(db, programme.id),
		health: await readCallbackHealth(db, programme.id, nowMs),
		test: {
			...common,
			hasSecret: secret !== undefined,
			conversion,
			deliveries: conversion === null ? [] : await listDeliveriesOfConversion(db, conversion.id),
		},
		deliveries: {
			...common,
			query,
			page: await listDeliveries(db, {
				programmeId: programme.id,
				state: query.state,
				event: query.event,
				orderId: query.order,
				after: readCursor(query.after),
				limit: PAGE_ROWS,
			}),
			isLive: Object.values(query).every((value) => value === undefined),
		},
	};
}
