<?php
// Receives status callbacks. To try it: php -S 127.0.0.1:3000 receiver.php (needs php-sqlite3).
// It keeps postbacks.db in the folder above its own, outside the web root. In production: use your
// own database in place of that file. PHP keeps nothing in memory between requests, so the nonces
// are in the database too.
declare(strict_types=1);

const MAX_BODY_BYTES = 65_536;
const TOLERANCE_SECONDS = 300;

function refuse(int $status, string $why): never // the page of your programme shows the reason
{
    $request = "{$_SERVER['REQUEST_METHOD']} {$_SERVER['REQUEST_URI']}";
    error_log("$status $why $request " . json_encode(getallheaders(), JSON_UNESCAPED_SLASHES));
    http_response_code($status);
    header('Content-Type: text/plain');
    exit($why);
}

// One secret, or two with a comma between them while it is being replaced.
$secrets = array_filter(explode(',', getenv('RINGBACK_SIGNING_SECRET') ?: ''));
if ($secrets === []) throw new Exception('Set RINGBACK_SIGNING_SECRET.');
if ($_SERVER['REQUEST_METHOD'] !== 'POST') refuse(405, 'Only POST is taken here.');

// The raw bytes: decoded and encoded again, they would have a different hash.
$body = file_get_contents('php://input', length: MAX_BODY_BYTES + 1);
if (strlen($body) > MAX_BODY_BYTES) refuse(413, 'The body is too large.');

$timestamp = $_SERVER['HTTP_X_SERVICE_TIMESTAMP'] ?? '';
$nonce = $_SERVER['HTTP_X_SERVICE_NONCE'] ?? '';
$signature = strtolower($_SERVER['HTTP_X_SERVICE_SIGNATURE'] ?? '');
$isComplete = $nonce !== '' && ctype_digit($timestamp);
if (!$isComplete) refuse(401, 'The timestamp or the nonce is missing.');
$away = abs(time() - (int) $timestamp);
$stale = "The timestamp is $away s away from this server's clock.";
if ($away > TOLERANCE_SECONDS) refuse(401, $stale);

$target = $_SERVER['REQUEST_URI'];
$signed = implode("\n", ['POST', $target, $timestamp, $nonce, hash('sha256', $body)]);
$isOurs = false;
foreach ($secrets as $secret) {
    $isOurs = hash_equals(hash_hmac('sha256', $signed, $secret), $signature) || $isOurs;
}
$length = strlen($body);
if (!$isOurs) refuse(401, "No secret here gives this signature for $target and $length bytes.");

try {
    $file = dirname(__DIR__) . '/postbacks.db';
    $db = new PDO("sqlite:$file", options: [PDO::ATTR_TIMEOUT => 3]);
    $db->exec('CREATE TABLE IF NOT EXISTS nonces (nonce TEXT PRIMARY KEY, stale_at INTEGER)');
    $db->exec('CREATE TABLE IF NOT EXISTS postbacks (conversion_id TEXT, event TEXT, body TEXT,
        PRIMARY KEY (conversion_id, event))');

    // A nonce is kept for as long as its timestamp would be accepted, but not if storing fails.
    $db->beginTransaction();
    $db->prepare('DELETE FROM nonces WHERE stale_at < ?')->execute([time()]);
    $insert = $db->prepare('INSERT OR IGNORE INTO nonces VALUES (?, ?)');
    $insert->execute([$nonce, (int) $timestamp + TOLERANCE_SECONDS]);
    if ($insert->rowCount() === 0) refuse(401, 'This nonce was used before.');

    $event = json_decode($body, true);
    $isEvent = isset($event['conversionId'], $event['event']);
    if (!$isEvent) refuse(400, 'The body has no conversionId or no event.');

    // The same event may come twice: the primary key stores it only once.
    $insert = $db->prepare('INSERT OR IGNORE INTO postbacks VALUES (?, ?, ?)');
    $insert->execute([$event['conversionId'], $event['event'], $body]);
    $db->commit();
} catch (PDOException $problem) {
    error_log($problem->getMessage());
    refuse(503, 'Not stored.'); // 5xx: it is sent again. A 4xx would end the delivery.
}

http_response_code(204);
// Under FPM the answer is sent here. Elsewhere it is sent when the script ends: put work that takes
// more than a second or two into a queue.
if (function_exists('fastcgi_finish_request')) fastcgi_finish_request();
// The work. Events come in any order: use this one only if its status ranks above the one you have
// (rule 8 of the guide).
if ($insert->rowCount() === 1) {
    error_log("{$event['event']} {$event['conversionId']} {$event['orderId']} {$event['status']}");
}
