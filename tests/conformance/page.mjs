// A test page's hold on its worker: `start` boots one, `ask` gives it one item and waits, `end` kills it.
let worker;
let answer;

function next(seconds) {
  return new Promise((resolve) => {
    const late = setTimeout(() => resolve({ late: true }), seconds * 1000);
    answer = (message) => {
      clearTimeout(late);
      resolve(message);
    };
  });
}

window.start = (seconds) => {
  worker = new Worker("./worker.mjs", { type: "module" });
  worker.onmessage = ({ data }) => answer(data);
  worker.onerror = (event) => answer({ broken: event.message });
  return next(seconds);
};

window.ask = (module, item, seconds) => {
  const answered = next(seconds);
  worker.postMessage({ module, item });
  return answered;
};

window.end = () => worker.terminate();
