// The page of notices.

import type { Hono } from "hono";
import type { WebDeps, WebEnv } from "../deps.ts";
import { showNotices } from "./notices-page.ts";

export function mountNotices(site: Hono<WebEnv>, deps: WebDeps): void {
	site.get("/programmes/:programmeId/notices", (c) => showNotices(c, deps));
}
