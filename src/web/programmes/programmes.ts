// The pages of programmes as such: the list, making one, its settings.

import type { Hono } from "hono";
import { requireStaff } from "../access.ts";
import type { WebDeps, WebEnv } from "../deps.ts";
import { showCreateForm, takeCreateForm } from "./create-page.ts";
import { showProgrammes } from "./programme-list-page.ts";
import { showSettings, takeSettings } from "./settings-page.ts";

export function mountProgrammes(site: Hono<WebEnv>, deps: WebDeps): void {
	site.get("/programmes", (c) => showProgrammes(c, deps));
	site.get("/programmes/new", requireStaff, (c) => showCreateForm(c, deps));
	site.post("/programmes/new", requireStaff, (c) => takeCreateForm(c, deps));
	site.get("/programmes/:programmeId/settings", (c) => showSettings(c, deps));
	site.post("/programmes/:programmeId/settings", (c) => takeSettings(c, deps));
}
