// The routes below /programmes/:programmeId/conversions. Fixed words come before ids.

import type { Hono } from "hono";
import type { WebContext, WebEnv } from "../env.ts";
import { createPlaces } from "../places.ts";
import { answerResult, applyJob, dropJob } from "./bulk-actions.ts";
import { answerJob } from "./bulk-job-page.ts";
import { answerUploadForm, takeUpload } from "./bulk-upload-page.ts";
import { answerConversion } from "./conversion-page.ts";
import { EXPORT_LIMITS } from "./csv-answer.ts";
import { decideSelected, decideThis } from "./decide-action.ts";
import type { ConversionPagesDeps } from "./deps.ts";
import { answerExport } from "./export-action.ts";
import { answerList } from "./list-page.ts";

const BASE = "/programmes/:programmeId/conversions";

export function mountConversions(site: Hono<WebEnv>, deps: ConversionPagesDeps): void {
	const places = createPlaces(EXPORT_LIMITS, deps.clock);
	site.get(BASE, (c: WebContext) => answerList(c, deps));
	site.post(`${BASE}/decide`, (c: WebContext) => decideSelected(c, deps));
	// An address that a refused form left behind, opened again.
	site.get(`${BASE}/decide`, (c: WebContext) => c.redirect(c.req.path.replace(/\/decide$/, ""), 303));
	site.get(`${BASE}/export.csv`, (c: WebContext) => answerExport(c, deps, places));
	site.get(`${BASE}/bulk`, (c: WebContext) => answerUploadForm(c, deps));
	site.post(`${BASE}/bulk`, (c: WebContext) => takeUpload(c, deps));
	site.get(`${BASE}/bulk/:jobId`, (c: WebContext) => answerJob(c, deps));
	site.get(`${BASE}/bulk/:jobId/result.csv`, (c: WebContext) => answerResult(c, deps, places));
	site.post(`${BASE}/bulk/:jobId/apply`, (c: WebContext) => applyJob(c, deps));
	site.post(`${BASE}/bulk/:jobId/discard`, (c: WebContext) => dropJob(c, deps));
	site.get(`${BASE}/:conversionId`, (c: WebContext) => answerConversion(c, deps));
	site.get(`${BASE}/:conversionId/decide`, (c: WebContext) =>
		c.redirect(c.req.path.replace(/\/decide$/, ""), 303),
	);
	site.post(`${BASE}/:conversionId/decide`, (c: WebContext) => decideThis(c, deps));
}
