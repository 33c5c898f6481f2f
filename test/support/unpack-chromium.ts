// Unpacks npm's Chromium into the temporary folder of this process. It runs in a process of its own, because
// the package uses a fixed folder, and a concurrent caller would get an incomplete browser.

import chromium from "@sparticuz/chromium";

await chromium.executablePath();
