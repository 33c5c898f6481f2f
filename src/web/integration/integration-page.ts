// The Integration page: everything a shop needs to be heard, and to hear. Loaded once, rendered whole; the parts
// that change by themselves are rendered again for the live stream.

import { html } from "hono/html";
import { type CallbackHealth, readCallbackHealth } from "../../callbacks/health.ts";
import { sha256Hex } from "../../domain/signature.ts";
import { listLastAttempts } from "../../store/attempt-list.ts";
import { listDeliveries, listDeliveriesOfConversion, newestProgress } from "../../store/delivery-list.ts";
import { type IntegrationChecks, readIntegrationChecks } from "../../store/first-times.ts";
import { listApiKeys } from "../../store/keys.ts";
import { type Programme, presentUrl } from "../../store/programmes.ts";
import { findUsableSecrets, type SigningSecret, stateOf } from "../../store/signing-secrets.ts";
import type { Db } from "../../store/store.ts";
import { findNewestTest } from "../../store/test-conversion.ts";
import { steps } from "../components/blocks.ts";
import { csrfField } from "../csrf.ts";
import type { PageDeps, WebDeps } from "../deps.ts";
import type { WebContext } from "../env.ts";
import { cursorOf, type PagedList, pagesOf, type ReadFilters } from "../filter-query.ts";
import type { Content, Html } from "../html.ts";
import { answerStream, liveConnector, partial } from "../live-page.ts";
import { integrationPath } from "../paths.ts";
import { programmeOf, viewerOf } from "../viewer.ts";
import { type CallbackView, callbackSection, WAITING_TARGET, waiting } from "./callback-section.ts";
import {
	DELIVERIES_TARGET,
	type DeliveriesQuery,
	type DeliveriesView,
	deliveriesSection,
	deliveriesTable,
	NO_FILTERS,
	parseDeliveriesQuery,
} from "./deliveries-section.ts";
import { answerTab } from "./frame.ts";
import { HEALTH_CHART_TARGET, healthChart, healthSection, healthStrip } from "./health-section.ts";
import { takeIssued } from "./issued-cookie.ts";
import { keysSection } from "./keys-section.ts";
import { parseLanguage, snippetsSection } from "./snippets-section.ts";
import { TEST_TARGET, type TestView, testResult, testSection } from "./test-section.ts";

/** A screenful; the rest is pages. */
const PAGE_ROWS = 25;
/** Behind those in use: history. */
const MAX_REVOKED_SHOWN = 10;
const CHECKS_TARGET = "checks-live";
const HEALTH_TARGET = "health-live";
const FINGERPRINT_LENGTH = 16;

export async function showIntegration(
	c: WebContext,
	deps: WebDeps,
	refused: CallbackView["refused"] = null,
): Promise<Response> {
	const programme = programmeOf(c);
	const { db } = deps.store;
	const path = integrationPath(programme.public_id);
	const filters = parseDeliveriesQuery(new URL(c.req.url).search);
	const issued = await takeIssued(c, deps, programme, viewerOf(c).personId);
	// Before the rest: what changes while the page is read is then pushed, not missed.
	const seen = await fingerprintOf(db, programme);
	const live = await loadLive(c, deps, programme, filters);
	const { test, deliveries, next } = live;
	const csrf = csrfField(c);
	const values = { publicUrl: deps.publicUrl, brand: deps.brand, programId: programme.public_id };
	return answerTab(c, {
		tab: "set-up",
		title: "Integration",
		hint: "Your server reports sales to us with signed requests; we tell it of every status change.",
		status: refused === null && deliveries.page !== null ? 200 : 422,
		body: html`${deliveries.isLive ? liveConnector(`${path}/live?seen=${seen}`) : null}
<h2 class="visually-hidden">What works so far</h2>
<div id="${CHECKS_TARGET}">${checkSteps(live.checks, programme.parks_pixels === 1)}</div>
${keysSection({
	path,
	csrf,
	keys: await listApiKeys(db, programme.id, MAX_REVOKED_SHOWN),
	secrets: live.secrets,
	nowMs: deps.clock.nowMs(),
	isNext: next === "key",
	issued,
})}
${callbackSection({
	path,
	csrf,
	url: live.url,
	hasSecret: test.hasSecret,
	pendingCount: live.health.pending.count,
	isNext: next === "url",
	refused,
	publicUrl: deps.publicUrl,
	brand: deps.brand,
})}
${testSection(test)}
${deliveriesSection(deliveries)}
<div id="${HEALTH_TARGET}">${healthStrip(live.health)}</div>
${healthSection(live.health)}
${snippetsSection(path, parseLanguage(c.req.query("lang")), values, live.secrets.length > 1)}`,
	});
}

export function watchIntegration(c: WebContext, deps: PageDeps): Response {
	const programme = programmeOf(c);
	return answerStream(c, deps, {
		fingerprint: () => fingerprintOf(deps.store.db, programme),
		render: () => renderLive(c, deps, programme),
	});
}

/** What the stream pushes when something has changed. */
async function renderLive(c: WebContext, deps: WebDeps, programme: Programme): Promise<string> {
	const live = await loadLive(c, deps, programme, NO_FILTERS);
	const { url, health } = live;
	const parts: readonly (readonly [target: string, content: Content])[] = [
		[CHECKS_TARGET, checkSteps(live.checks, programme.parks_pixels === 1)],
		[WAITING_TARGET, waiting({ url, pendingCount: health.pending.count })],
		[TEST_TARGET, testResult(live.test)],
		[DELIVERIES_TARGET, deliveriesTable(live.deliveries)],
		[HEALTH_TARGET, healthStrip(health)],
		[HEALTH_CHART_TARGET, healthChart(health)],
	];
	return String(await html`${parts.map(([target, content]) => partial(target, content))}`);
}

async function fingerprintOf(db: Db, programme: Programme): Promise<string> {
	return sha256Hex(await newestProgress(db, programme.id)).slice(0, FINGERPRINT_LENGTH);
}

interface Live {
	url: string | null;
	secrets: readonly SigningSecret[];
	checks: IntegrationChecks;
	health: CallbackHealth;
	test: TestView;
	deliveries: DeliveriesView;
	/** The one button that stands out. */
	next: "key" | "url" | "test" | null;
}

async function loadLive(
	c: WebContext,
	deps: WebDeps,
	programme: Programme,
	filters: ReadFilters<DeliveriesQuery>,
): Promise<Live> {
	const { store, clock } = deps;
	const { db } = store;
	const nowMs = clock.nowMs();
	const url = (await presentUrl(db, programme.id)) ?? null;
	const secrets = await findUsableSecrets(db, programme.id, nowMs);
	const conversion = (await findNewestTest(db, programme.id)) ?? null;
	const ofTest = conversion === null ? [] : await listDeliveriesOfConversion(db, conversion.id);
	const checks = await readIntegrationChecks(db, programme.id);
	const next = nextStep(checks.hasKey, url !== null, conversion !== null);
	const { query, problems } = filters;
	const isUnderstood = Object.keys(problems).length === 0;
	const common = {
		programmeId: programme.public_id,
		path: integrationPath(programme.public_id),
		csrf: csrfField(c),
		hasUrl: url !== null,
		nowMs,
	};
	return {
		url,
		secrets,
		checks,
		health: await readCallbackHealth(db, programme.id, nowMs),
		test: {
			...common,
			hasSecret: secrets.some((secret) => stateOf(secret, nowMs) === "active"),
			conversion,
			deliveries: ofTest,
			lastAttempts: await listLastAttempts(
				db,
				ofTest.map(({ id }) => id),
			),
			isNext: next === "test",
		},
		deliveries: {
			...common,
			filters,
			...(isUnderstood ? await readDeliveries(deps, programme, query) : { page: null, pages: null }),
			isLive: isUnderstood && Object.values(query).every((value) => value === undefined),
		},
		next,
	};
}

function nextStep(hasKey: boolean, hasUrl: boolean, hasTest: boolean): Live["next"] {
	if (!hasKey) return "key";
	if (!hasUrl) return "url";
	return hasTest ? null : "test";
}

async function readDeliveries(
	deps: WebDeps,
	programme: Programme,
	query: DeliveriesQuery,
): Promise<Pick<DeliveriesView, "page" | "pages">> {
	const list: PagedList = {
		name: `deliveries of programme:${programme.id}`,
		path: integrationPath(programme.public_id),
		query,
		cursorName: "after",
		hash: "#deliveries",
	};
	const page = await listDeliveries(deps.store.db, {
		programmeId: programme.id,
		state: query.state,
		event: query.event,
		orderId: query.order,
		after: cursorOf(deps, list),
		limit: PAGE_ROWS,
	});
	return { page, pages: pagesOf(deps, list, page) };
}

function checkSteps(checks: IntegrationChecks, parksPixels: boolean): Html {
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
