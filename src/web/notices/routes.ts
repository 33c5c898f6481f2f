// What the owners are told about callbacks.

import { noticesPath } from "../paths.ts";
import type { Route } from "../routes.ts";
import { showNotices } from "./notices-page.ts";

export const NOTICE_ROUTES: readonly Route[] = [
	{ method: "GET", path: noticesPath(":programmeId"), access: "programme", answer: showNotices },
];
