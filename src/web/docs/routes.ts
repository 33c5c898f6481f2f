// The documentation, which everybody may read.

import { API_REFERENCE_PATH, DOCS_PATH } from "../paths.ts";
import type { Route } from "../routes.ts";
import { showApiReference } from "./api-page.ts";
import { showGuide } from "./guide-page.ts";

export const DOCS_ROUTES: readonly Route[] = [
	{ method: "GET", path: DOCS_PATH, access: "anyone", answer: showGuide },
	{ method: "GET", path: API_REFERENCE_PATH, access: "anyone", answer: showApiReference },
];
