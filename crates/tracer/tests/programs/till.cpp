// Two threads hold one mutex of a template sixty times for milliseconds, so that the recorder can
// look at it.
#include <chrono>
#include <mutex>
#include <thread>

namespace shop {
template <class Coin> struct Till {
    static std::mutex lock;
};
template <class Coin> std::mutex Till<Coin>::lock;
}

int main() {
    const auto serve = [] {
        for (int round = 0; round < 60; round++) {
            std::lock_guard<std::mutex> held(shop::Till<int>::lock);
            std::this_thread::sleep_for(std::chrono::milliseconds(5));
        }
    };
    std::thread one(serve), other(serve);
    one.join();
    other.join();
}
