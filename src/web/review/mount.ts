// The routes of Review. Only staff come here: site.ts answers everybody else as if it were not there.

import type { Hono } from "hono";
import type { ConversionsDeps } from "../../conversions/deps.ts";
import type { WebContext, WebEnv } from "../env.ts";
import { rejectSelected } from "./reject-action.ts";
import { answerReview } from "./review-page.ts";

export function mountReview(site: Hono<WebEnv>, deps: ConversionsDeps): void {
	site.get("/review", (c: WebContext) => answerReview(c, deps));
	// An address that a refused form left behind, opened again.
	site.get("/review/reject", (c: WebContext) => c.redirect("/review", 303));
	site.post("/review/reject", (c: WebContext) => rejectSelected(c, deps));
}
