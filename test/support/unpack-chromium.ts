// Unpacks npm's Chromium into the temporary folder of this process. This runs in a separate process, because the
// package uses a fixed folder, and a concurrent caller would get an incomplete browser.

import chromium from "@sparticuz/chromium";

await chromium.executablePath();
